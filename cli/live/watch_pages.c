/* watch_pages.c - the pages of `watch` as text. They are drawn, searched and saved as such. */
#include "cli/live/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/overview.h"
#include "report/text.h"

#define WIDE 4096 /* columns of a line that is not cut */

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
put_function(FILE *out, const struct watch_session *session, const struct watch_row *row,
             unsigned width)
{
    const struct attach_tally *tally = &session->tally;
    const struct attach_tally_function *counts = &tally->functions[row->function];
    const struct heapprof_function *function = attach_names_get(&session->names, row->function);
    unsigned left = width > 30 ? width - 30 : 1;
    uint64_t now = tally->stacks - tally->stacks_marked;

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
put_functions(FILE *out, const struct watch_session *session, unsigned width)
{
    const struct attach_tally *tally = &session->tally;
    struct watch_row *rows = calloc((size_t)tally->end + 1, sizeof(*rows));
    size_t count = 0;

    for (uint32_t i = 1; rows && i < tally->end; i++) {
        const struct attach_tally_function *counts = &tally->functions[i];
        if (counts->total == 0) continue;
        rows[count++] = session->by_total ? (struct watch_row){i, counts->total, counts->self}
                                          : (struct watch_row){i, counts->self, counts->total};
    }
    if (count) qsort(rows, count, sizeof(*rows), larger);
    for (size_t i = 0; i < count; i++) {
        put_function(out, session, &rows[i], width);
        putc('\n', out);
    }
    free(rows);
}

/* ---- threads ---- */

static void
put_thread(FILE *out, const struct watch_session *session, const struct attach_look_stack *stack,
           unsigned width)
{
    unsigned left = width > 58 ? width - 58 : 1;
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
put_threads(FILE *out, const struct watch_session *session, unsigned width)
{
    const struct attach_looks *looks = session->looks;

    for (size_t i = 0; i < looks->stack_count; i++) {
        put_thread(out, session, &looks->stacks[i], width);
        putc('\n', out);
    }
}

/* ---- the heap ---- */

static void
put_heap(FILE *out, const struct watch_session *session, unsigned width)
{
    const struct report_question question = {.group = REPORT_SITE, .frames = 2};
    bool growth = session->page == WATCH_GROWTH;
    const char *names[] = {"when it began", "now"};
    const struct report_look look = {
        .limit = 100, .width = width, .names = growth ? names : names + 1
    };
    const struct heapprof_model *models[] = {session->first, session->now};

    if (!session->now) {
        report_put(out, session->heap_error, 0, false);
        putc('\n', out);
        return;
    }
    uint32_t types[] = { rb_heapprof_model_default_type(session->first),
                         rb_heapprof_model_default_type(session->now) };
    if (growth) report_overview(out, &question, models, types, 2, &look, report_table_text);
    else report_overview(out, &question, models + 1, types + 1, 1, &look, report_table_text);
}

/* ---- help ---- */

static const char help[] =
    "1       functions: the part of the time that they take themselves, and with what they call;\n"
    "        of the last second, and since it began\n"
    "2       threads, and what each is doing\n"
    "3       the heap: what is in use, the largest first\n"
    "4       growth: what grew in the heap since it began\n"
    "        3 and 4 need a process that runs under RUBY_HEAPPROF\n"
    "5       labels: the part of the time that each endpoint, job or tenant takes, if the program\n"
    "        says which it serves (ObjectSpace::HeapProfile.label)\n"
    "\n"
    "/       find: type a text, then Enter; Esc gives up. Lines that have it are marked\n"
    "n       the next line that has it\n"
    "s       save the page to a file, whole; the file's name is shown\n"
    "t       functions by their own time, or by the total\n"
    "i       count idle threads, too, or no longer\n"
    "r       begin again\n"
    "space   pause, or go on\n"
    "arrows  scroll; also page up and page down\n"
    "h, ?    this help, or back\n"
    "q       quit\n";

/* ---- a page ---- */

const char *
watch_page_name(enum watch_page page)
{
    static const char *const names[] = {"functions", "threads", "heap", "growth", "labels"};

    return page == WATCH_HELP ? "help" : names[page - WATCH_FUNCTIONS];
}

void
watch_put_heading(FILE *out, const struct watch_session *session)
{
    switch (session->page) {
      case WATCH_FUNCTIONS:
        fputs(session->by_total ? "  self TOTAL    self   TOTAL  function (now, since it began)"
                                : "  SELF total    SELF   total  function (now, since it began)",
              out);
        break;
      case WATCH_THREADS:
        fputs("  native  Rac  state                 name                in", out);
        break;
      case WATCH_HEAP: fputs("what is in use", out); break;
      case WATCH_GROWTH: fputs("what grew since it began", out); break;
      case WATCH_LABELS: fputs("   now    since it began  label", out); break;
      case WATCH_HELP: fputs("keys", out); break;
    }
}

void
watch_put_page(FILE *out, const struct watch_session *session, unsigned width)
{
    switch (session->page) {
      case WATCH_FUNCTIONS: put_functions(out, session, width ? width : WIDE); break;
      case WATCH_THREADS: put_threads(out, session, width ? width : WIDE); break;
      case WATCH_HEAP: case WATCH_GROWTH: put_heap(out, session, width); break;
      case WATCH_LABELS: watch_put_labels(out, session, width ? width : WIDE); break;
      case WATCH_HELP: fputs(help, out); break;
    }
}
