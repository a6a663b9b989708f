/* watch.c - heapprof watch: shows a running Ruby on a live screen.
 *
 * Pages 1 and 2 are made from looks, several a second. Pages 3 and 4 are made from the heap
 * profile, every few seconds, by the tables of `heapprof top` and `diff`. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/tally.h"
#include "cli/live/attach.h"
#include "cli/live/screen.h"
#include "os/clock.h"
#include "report/overview.h"
#include "report/text.h"

enum watch_page {FUNCTIONS = '1', THREADS, HEAP, GROWTH};

#define SECOND_NS  INT64_C(1000000000)
#define REFRESH_NS SECOND_NS
#define HEAP_NS    (2 * SECOND_NS)
#define RATE_MOST  1000

struct watch_session {
    struct cli *cli;
    struct attach_target *target;
    struct heapprof_mem mem;
    struct attach_names names;
    struct attach_looks *looks;
    struct attach_tally tally;
    struct heapprof_model *first, *now;   /* heap profiles; NULL if not read yet */
    char     heap_error[ATTACH_TARGET_ERROR_MAX];
    enum watch_page page;
    bool     by_total, idle, paused, ended, memory;
    size_t   scrolled;
    int64_t  period_ns, refresh_ns, heap_ns; /* refresh, heap: when next */
    struct attach_look_counts marked;   /* the counts at the last tally */
};

/* ---- the title ---- */

static void
put_title(struct watch_session *session)
{
    const struct attach_look_counts *counts = &session->looks->counts;
    FILE *out = cli_screen_line(CLI_SCREEN_TITLE);

    char threads[REPORT_COUNT_MAX], looks[REPORT_COUNT_MAX];

    report_count(threads, session->looks->stack_count, "thread", "threads");
    report_print(out, "%s: %s%s%s", session->target->name, threads,
                 session->paused ? ", paused" : "", session->ended ? ", ended" : "");
    out = cli_screen_line(CLI_SCREEN_PLAIN);
    report_count(looks, counts->looks, "look", "looks");
    fprintf(out, "%s; stacks read in part %" PRIu64 ", not read %" PRIu64, looks, counts->torn,
            counts->failed);
    if (session->tally.stacks) {
        fprintf(out, "; garbage collection %.1f%%",
                100.0 * (double)session->tally.collecting / (double)session->tally.stacks);
    }
    out = cli_screen_line(CLI_SCREEN_PLAIN);
    fputs("1 functions  2 threads  3 heap  4 growth | s sort  i idle  r reset  space pause  q quit",
          out);
    cli_screen_line(CLI_SCREEN_PLAIN);
}

static size_t
rows_left(void)
{
    unsigned height = cli_screen_height();
    return height > 5 ? height - 5 : 1; /* the rows below the title and a heading */
}

/* ---- functions ---- */

struct watch_row {
    uint32_t function;
    uint64_t key, other;
};

static int
larger(const void *a, const void *b)
{
    const struct watch_row *one = a, *other = b;

    if (one->key != other->key) return one->key < other->key ? 1 : -1;
    if (one->other != other->other) return one->other < other->other ? 1 : -1;
    return (one->function > other->function) - (one->function < other->function);
}

static double
share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void
put_function(const struct watch_session *session, const struct watch_row *row)
{
    const struct attach_tally *tally = &session->tally;
    const struct attach_tally_function *counts = &tally->functions[row->function];
    const struct heapprof_function *function = attach_names_get(&session->names, row->function);
    unsigned width = cli_screen_width(), left = width > 30 ? width - 30 : 1;
    uint64_t now = tally->stacks - tally->stacks_marked;
    FILE *out = cli_screen_line(CLI_SCREEN_PLAIN);

    fprintf(out, "%5.1f%% %5.1f%% %6.1f%% %6.1f%%  ",
            share(counts->self - counts->self_marked, now),
            share(counts->total - counts->total_marked, now), share(counts->self, tally->stacks),
            share(counts->total, tally->stacks));
    left -= report_put(out, attach_names_text(&session->names, function->name, NULL), left, false);
    if (left < 10 || !function->path) return;
    fputs("  ", out);
    report_put(out, attach_names_text(&session->names, function->path, NULL), left - 2, true);
}

static void
put_functions(struct watch_session *session)
{
    const struct attach_tally *tally = &session->tally;
    struct watch_row *rows = calloc((size_t)tally->end + 1, sizeof(*rows));
    size_t count = 0;

    fputs(session->by_total ? "  self TOTAL    self   TOTAL  function (now, since it began)"
                            : "  SELF total    SELF   total  function (now, since it began)",
          cli_screen_line(CLI_SCREEN_HEADING));
    for (uint32_t i = 1; rows && i < tally->end; i++) {
        const struct attach_tally_function *counts = &tally->functions[i];
        if (counts->total == 0) continue;
        rows[count++] = session->by_total ? (struct watch_row){i, counts->total, counts->self}
                                          : (struct watch_row){i, counts->self, counts->total};
    }
    if (count) qsort(rows, count, sizeof(*rows), larger);
    for (size_t i = session->scrolled; i < count && i < session->scrolled + rows_left(); i++) {
        put_function(session, &rows[i]);
    }
    free(rows);
}

/* ---- threads ---- */

static void
put_thread(struct watch_session *session, const struct attach_look_stack *stack)
{
    FILE *out = cli_screen_line(CLI_SCREEN_PLAIN);
    unsigned width = cli_screen_width(), left = width > 58 ? width - 58 : 1;
    struct attach_text name;

    fprintf(out, "%8d %4" PRIu64 "  %-20s  ", stack->thread.tid, stack->thread.ractor,
            stack->collecting ? "garbage collection"
                              : attach_thread_state_name(stack->thread.state));
    attach_look_name(session->looks, stack->thread.name, &name);
    name.bytes[name.length < 18 ? name.length : 18] = 0;
    unsigned written = report_put(out, name.bytes, 18, false);
    fprintf(out, "%*s", (int)(20 - written), "");
    if (stack->count == 0) return;
    const struct heapprof_function *function =
        attach_names_get(&session->names, session->looks->frames[stack->first].function);
    report_put(out, attach_names_text(&session->names, function->name, NULL), left, false);
}

static void
put_threads(struct watch_session *session)
{
    const struct attach_looks *looks = session->looks;

    fputs("  native  Rac  state                 name                in",
          cli_screen_line(CLI_SCREEN_HEADING));
    for (size_t i = session->scrolled;
         i < looks->stack_count && i < session->scrolled + rows_left(); i++) {
        put_thread(session, &looks->stacks[i]);
    }
}

/* ---- the heap ---- */

/* Shows on the screen, line by line, what `heapprof top` and `diff` print. */
static void
put_lines(struct watch_session *session, char *text)
{
    size_t number = 0;

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), number++) {
        if (number < session->scrolled) continue;
        if (number == session->scrolled + rows_left()) break;
        fputs(line, cli_screen_line(CLI_SCREEN_PLAIN));
    }
}

static void
put_heap(struct watch_session *session, bool growth)
{
    const struct report_question question = {.group = REPORT_SITE, .frames = 2};
    const char *names[] = {"when it began", "now"};
    const struct report_look look = {
        .limit = 100, .width = cli_screen_width(), .names = growth ? names : names + 1
    };
    const struct heapprof_model *models[] = {session->first, session->now};
    char *text = NULL;
    size_t size;

    fputs(growth ? "what grew since it began" : "what is in use",
          cli_screen_line(CLI_SCREEN_HEADING));
    if (!session->now) {
        report_put(cli_screen_line(CLI_SCREEN_PLAIN), session->heap_error, 0, false);
        return;
    }
    uint32_t types[] = { rb_heapprof_model_default_type(session->first),
                         rb_heapprof_model_default_type(session->now) };
    FILE *out = open_memstream(&text, &size);
    if (!out) return;
    bool room = growth ? report_overview(out, &question, models, types, 2, &look, report_table_text)
                       : report_overview(out, &question, models + 1, types + 1, 1, &look,
                                         report_table_text);
    fclose(out);
    if (room) put_lines(session, text);
    free(text);
}

static void
read_heap(struct watch_session *session)
{
    struct heapprof_model *model =
        cli_attach_heap(session->looks->vm, session->looks->stop, session->heap_error);

    if (!model) return;
    if (session->now != session->first) rb_heapprof_model_free(session->now);
    session->now = model;
    if (!session->first) session->first = model;
}

/* ---- the loop ---- */

static void
draw(struct watch_session *session)
{
    cli_screen_clear();
    put_title(session);
    if (session->page == FUNCTIONS) put_functions(session);
    else if (session->page == THREADS) put_threads(session);
    else put_heap(session, session->page == GROWTH);
    cli_screen_show();
}

static void
look(struct watch_session *session)
{
    if (session->paused || session->ended) return;
    if (!attach_look(session->looks)) {
        session->ended = attach_target_state(session->target) != ATTACH_TARGET_SAME;
        return;
    }
    session->memory = !attach_tally_add(&session->tally, session->looks, session->idle);
}

static void
refresh_page(struct watch_session *session, int64_t now)
{
    bool heap = session->page == HEAP || session->page == GROWTH;

    if (now < session->refresh_ns) return;
    session->refresh_ns = now + REFRESH_NS;
    if (heap && !session->paused && !session->ended && now >= session->heap_ns) {
        session->heap_ns = now + HEAP_NS;
        read_heap(session);
    }
    draw(session);
    if (!session->paused) attach_tally_mark(&session->tally);
}

static void
scroll(struct watch_session *session, int key)
{
    size_t page = rows_left();

    if (key == CLI_SCREEN_UP && session->scrolled) session->scrolled--;
    if (key == CLI_SCREEN_DOWN) session->scrolled++;
    if (key == CLI_SCREEN_PAGE_UP)
        session->scrolled -= session->scrolled < page ? session->scrolled : page;
    if (key == CLI_SCREEN_PAGE_DOWN) session->scrolled += page;
}

/* Obeys a key. Returns false if the key ends the command. */
static bool
obey(struct watch_session *session, int key)
{
    if (key == CLI_SCREEN_NONE) return true;
    if (key == 'q' || key == 3) return false;
    if (key >= FUNCTIONS && key <= GROWTH) {
        session->page = (enum watch_page)key;
        session->scrolled = 0;
    }
    if (key == 's') session->by_total = !session->by_total;
    if (key == 'i') session->idle = !session->idle;
    if (key == ' ') session->paused = !session->paused;
    if (key == 'r') attach_tally_clear(&session->tally);
    scroll(session, key);
    session->refresh_ns = 0;
    return true;
}

static void
watch(struct watch_session *session)
{
    int64_t next = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    bool goes_on = true;

    while (goes_on && !session->memory) {
        look(session);
        refresh_page(session, rb_heapprof_clock_ns(CLOCK_MONOTONIC));
        next += session->period_ns;
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        if (next < now) next = now;
        goes_on = obey(session, cli_screen_key((int)((next - now) / 1000000)));
    }
}

static int
watch_target(struct watch_session *session)
{
    char error[ATTACH_TARGET_ERROR_MAX];

    session->looks = attach_look_open(session->target, &session->names,
                                           cli_attach_mode(session->cli->values[CLI_STOP]), error);
    if (!session->looks) return cli_wrong(session->cli, "%s", error);
    const char *why = cli_screen_begin();
    if (why) return cli_wrong(session->cli, "%s", why);
    watch(session);
    cli_screen_end();
    return session->memory ? cli_wrong(session->cli, "no memory") : CLI_DONE;
}

static int
run(struct cli *cli)
{
    struct watch_session session = {.cli = cli, .page = FUNCTIONS};
    long rate;

    if (!cli_number(cli, CLI_RATE, 1, 50, &rate)) return CLI_USAGE;
    if (rate > RATE_MOST) return cli_usage(cli, "--rate=%ld: give at most %d", rate, RATE_MOST);
    session.period_ns = SECOND_NS / rate;
    session.target = cli_attach_open(cli, cli->operands[0], CLI_ATTACH_PROCESS);
    if (!session.target) return CLI_WRONG;
    rb_heapprof_mem_init(&session.mem, (size_t)1 << 30);
    attach_names_init(&session.names, &session.mem);
    attach_tally_init(&session.tally, &session.mem);
    int status = watch_target(&session);
    if (session.now != session.first) rb_heapprof_model_free(session.now);
    rb_heapprof_model_free(session.first);
    attach_tally_free(&session.tally);
    attach_look_close(session.looks);
    attach_names_free(&session.names);
    attach_target_close(session.target);
    return status;
}

static const struct cli_option options[] = {
    {CLI_RATE, NULL, "Look N times a second (default: 50)"},
    {CLI_STOP, "auto always never", "Which threads to stop while they are read (default: auto)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof watch 4242", "functions by time, threads, and what is in the heap"},
    {0}
};

const struct cli_command cli_watch_command = {
    .name = "watch",
    .arguments = "[options] PID",
    .summary = "Watch a running Ruby on a live screen",
    .description =
        "Shows a screen that is drawn again each second. Keys: 1 shows functions by time, their\n"
        "own and with what they call; 2 shows threads and what each is doing; 3 shows the heap by\n"
        "size; 4 shows what grew in the heap since the start. 3 and 4 need a process that runs\n"
        "under RUBY_HEAPPROF. s sorts by total or own time, i counts idle threads, r starts\n"
        "again, space pauses, arrows scroll, q quits.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 1,
    .operand = CLI_PIDS,
    .run = run,
};
