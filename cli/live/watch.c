/* watch.c - heapprof watch: shows a running Ruby on a live screen.
 *
 * Pages 1, 2 and 5 are made from looks, several a second. Pages 3 and 4 are made from the heap
 * profile, every few seconds, by the tables of `heapprof top` and `diff`. A page is a text
 * (watch_pages.c), of which the screen shows a part. */
#define _GNU_SOURCE /* strcasestr */
#include "cli/live/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/origin.h"
#include "cli/live/attach.h"
#include "cli/live/screen.h"
#include "os/clock.h"
#include "os/file.h"
#include "report/text.h"

#define SECOND_NS  INT64_C(1000000000)
#define REFRESH_NS SECOND_NS
#define HEAP_NS    (2 * SECOND_NS)
#define RATE_MOST  1000
#define FILES_MOST 10000 /* names that are tried */

/* ---- the title ---- */

static void
put_name(FILE *out, const struct watch_session *session)
{
    char threads[REPORT_COUNT_MAX], origin[ATTACH_ORIGIN_TEXT_MAX];

    attach_origin_text(session->target, origin); /* a process may change its title */
    char *title = attach_origin_value(origin, "title");

    report_count(threads, session->looks->stack_count, "thread", "threads");
    report_print(out, "heapprof watch - %s - %s: %s%s%s", watch_page_name(session->page),
                 session->target->name, threads, session->paused ? ", paused" : "",
                 session->ended ? ", ended" : "");
    if (title) report_print(out, " - %s", title);
    free(title);
}

static void
put_counts(FILE *out, const struct watch_session *session)
{
    const struct attach_look_counts *counts = &session->looks->counts;
    char looks[REPORT_COUNT_MAX];

    report_count(looks, counts->looks, "look", "looks");
    fprintf(out, "%s; stacks read in part %" PRIu64 ", not read %" PRIu64, looks, counts->torn,
            counts->failed);
    if (session->tally.stacks) {
        fprintf(out, "; garbage collection %.1f%%",
                100.0 * (double)session->tally.collecting / (double)session->tally.stacks);
    }
}

/* Writes what was found, what was saved, or the text that is typed. */
static void
put_said(FILE *out, const struct watch_session *session, size_t found)
{
    char lines[REPORT_COUNT_MAX];

    report_count(lines, found, "line", "lines");
    if (session->typing) report_print(out, "find: %s_", session->find);
    else if (session->said[0]) report_print(out, "%s", session->said);
    else if (session->find[0] && found == 0) report_print(out, "no line has %s", session->find);
    else if (session->find[0]) report_print(out, "%s: %s (n: next)", session->find, lines);
}

/* ---- the screen ---- */

static size_t
rows_left(void)
{
    unsigned height = cli_screen_height();
    return height > 5 ? height - 5 : 1; /* the rows below the title and a heading */
}

static bool
found_p(const struct watch_session *session, const char *line)
{
    return session->find[0] && strcasestr(line, session->find);
}

/* Returns which line is the first one when the last one is at the bottom of the screen. */
static size_t
scrolled_most(size_t count)
{
    return count > rows_left() ? count - rows_left() : 0;
}

/* Scrolls to the line that is searched for, if there is one, and not further than to the last line.
 * Returns how many lines have the text. */
static size_t
find_lines(struct watch_session *session, char *const *lines, size_t count)
{
    size_t from = session->search == WATCH_NEXT ? session->found + 1 : session->scrolled;
    size_t found = 0, first = count, next = count;

    for (size_t i = 0; i < count; i++) {
        if (!found_p(session, lines[i])) continue;
        if (found++ == 0) first = i;
        if (next == count && i >= from) next = i;
    }
    if (session->search != WATCH_STAY && found)
        session->scrolled = session->found = next < count ? next : first;
    session->search = WATCH_STAY;
    if (session->scrolled > scrolled_most(count)) session->scrolled = scrolled_most(count);
    return found;
}

static void
put_screen(struct watch_session *session, char *const *lines, size_t count)
{
    size_t found = find_lines(session, lines, count);

    cli_screen_clear();
    put_name(cli_screen_line(CLI_SCREEN_TITLE), session);
    put_counts(cli_screen_line(CLI_SCREEN_PLAIN), session);
    fputs("1 functions  2 threads  3 heap  4 growth  5 labels | "
          "/ find  s save  space pause  h help  q quit",
          cli_screen_line(CLI_SCREEN_PLAIN));
    put_said(cli_screen_line(CLI_SCREEN_PLAIN), session, found);
    watch_put_heading(cli_screen_line(CLI_SCREEN_HEADING), session);
    for (size_t i = session->scrolled; i < count && i < session->scrolled + rows_left(); i++) {
        fputs(lines[i], cli_screen_line(found_p(session, lines[i]) ? CLI_SCREEN_FOUND
                                                                   : CLI_SCREEN_PLAIN));
    }
    cli_screen_show();
}

/* Splits a text into its lines, in a block from malloc. Returns NULL if there is no memory. */
static char **
split(char *text, size_t *count)
{
    size_t most = 1;

    for (const char *at = text; *at; at++) most += *at == '\n';
    char **lines = malloc(most * sizeof(*lines));
    *count = 0;
    while (lines && *text) {
        lines[(*count)++] = text;
        text += strcspn(text, "\n");
        if (*text) *text++ = '\0';
    }
    return lines;
}

static void
draw(struct watch_session *session)
{
    char *text = NULL, **lines = NULL;
    size_t size, count;
    FILE *out = open_memstream(&text, &size);

    if (out) {
        watch_put_page(out, session, cli_screen_width());
        fclose(out);
    }
    if (text) lines = split(text, &count);
    if (lines) put_screen(session, lines, count);
    else session->memory = true;
    free(lines);
    free(text);
}

/* ---- saving ---- */

/* Returns the name that the user gives, or finds one that no file has. Returns NULL if all are
 * taken. */
static const char *
name_file(const struct watch_session *session, char name[64])
{
    if (session->cli->values[CLI_OUTPUT]) return session->cli->values[CLI_OUTPUT];
    for (unsigned number = 1; number < FILES_MOST; number++) {
        snprintf(name, 64, "heapprof-watch-%d-%u.txt", (int)session->target->pid, number);
        if (access(name, F_OK) != 0) return name;
    }
    return NULL;
}

/* Writes the page to a file, with whole lines, and says its name. */
static void
save(struct watch_session *session)
{
    char buffer[64], *text = NULL;
    const char *name = name_file(session, buffer);
    size_t size;
    FILE *out = name ? open_memstream(&text, &size) : NULL;
    int error = 0;

    if (!out) return;
    put_name(out, session);
    putc('\n', out);
    put_counts(out, session);
    fputs("\n\n", out);
    watch_put_heading(out, session);
    putc('\n', out);
    watch_put_page(out, session, 0);
    if (fclose(out) == 0) error = rb_heapprof_file_write_whole(name, text, size, false);
    if (error) snprintf(session->said, sizeof(session->said), "%s: %s", name, strerror(error));
    else snprintf(session->said, sizeof(session->said), "wrote %s", name);
    free(text);
}

/* ---- the loop ---- */

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
    bool heap = session->page == WATCH_HEAP || session->page == WATCH_GROWTH;

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

static void
turn_to(struct watch_session *session, enum watch_page page)
{
    if (page == WATCH_HELP) session->before_help = session->page;
    session->page = page;
    session->scrolled = session->found = 0;
}

/* Adds a key to the text that is to be found. */
static void
type(struct watch_session *session, int key)
{
    size_t length = strlen(session->find);

    if (key == '\n' || key == '\r') {
        session->typing = false;
        session->search = WATCH_HERE;
    }
    else if (key == '\033') { /* Esc */
        session->typing = false;
        session->find[0] = '\0';
    }
    else if (key == CLI_SCREEN_BACKSPACE) {
        while (length > 0 && (session->find[length - 1] & 0xc0) == 0x80) length--; /* of UTF-8 */
        session->find[length > 0 ? length - 1 : 0] = '\0';
    }
    else if (key >= ' ' && key < 256 && length + 1 < sizeof(session->find)) {
        session->find[length] = (char)key;
        session->find[length + 1] = '\0';
    }
}

/* Obeys a key. Returns false if the key ends the command. */
static bool
obey(struct watch_session *session, int key)
{
    if (key == CLI_SCREEN_NONE) return true;
    session->refresh_ns = 0;
    if (session->typing) {
        type(session, key);
        return true;
    }
    if (key != CLI_SCREEN_RESIZED) session->said[0] = '\0';
    switch (key) {
      case 'q': case 3: return false;
      case '1': case '2': case '3': case '4': case '5':
        turn_to(session, (enum watch_page)key);
        break;
      case 'h': case '?':
        turn_to(session, session->page == WATCH_HELP ? session->before_help : WATCH_HELP);
        break;
      case '/':
        session->typing = true;
        session->find[0] = '\0';
        break;
      case 'n': session->search = WATCH_NEXT; break;
      case 's': save(session); break;
      case 't': session->by_total = !session->by_total; break;
      case 'i': session->idle = !session->idle; break;
      case ' ': session->paused = !session->paused; break;
      case 'r': attach_tally_clear(&session->tally); break;
      default: scroll(session, key);
    }
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
    if (!attach_look_native(session->looks, cli_attach_native(session->cli)))
        return cli_wrong(session->cli, "no memory");
    session->looks->native_busy_only = true;
    const char *why = cli_screen_begin();
    if (why) return cli_wrong(session->cli, "%s", why);
    watch(session);
    cli_screen_end();
    return session->memory ? cli_wrong(session->cli, "no memory") : CLI_DONE;
}

static int
run(struct cli *cli)
{
    struct watch_session session = {.cli = cli, .page = WATCH_FUNCTIONS};
    const char *output = cli->values[CLI_OUTPUT];
    long rate;

    if (!cli_number(cli, CLI_RATE, 1, 50, &rate)) return CLI_USAGE;
    if (rate > RATE_MOST) return cli_usage(cli, "--rate=%ld: give at most %d", rate, RATE_MOST);
    if (output && !strcmp(output, "-"))
        return cli_usage(cli, "--output=-: the screen is there; give a file");
    if (!cli_attach_native_usable_p(cli)) return CLI_USAGE;
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
    CLI_NATIVE_OPTIONS,
    {CLI_OUTPUT, NULL, "The file that s saves to (default: a new heapprof-watch-PID-N.txt)"},
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
        "under RUBY_HEAPPROF. 5 shows the time by label, as by endpoint or by job. h or ? shows\n"
        "all keys. / finds a text, n the next line that has it. s saves the page to a file. t\n"
        "sorts by total or own time, i counts idle threads, r starts again, space pauses, arrows\n"
        "scroll, q quits.",
    .readers = "only the owner of a file that is saved (mode 0600). It names methods, classes and "
               "files.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 1,
    .operand = CLI_PIDS,
    .writes_output = true,
    .run = run,
};
