/* words.c - a verdict in words, on one screen. */
#include "cli/leak/verdict.h"

#include <inttypes.h>
#include <math.h>

#include "report/text.h"

#define LINES_MOST 4
#define HOUR 3600.0
#define SLOWER 2
#define SIDE_SHARE 20            /* a line below 1/20 of the whole is not worth one of ours */

/* "1.92 MB"; of a negative amount "-1.92 MB". */
static void
put_amount(FILE *out, double bytes)
{
    if (bytes < 0) putc('-', out);
    cli_graph_put_amount(out, fabs(bytes), "bytes");
}

static void
put_alive(FILE *out, const struct cli_leak_verdict *verdict)
{
    const uint64_t *alive = verdict->diff.difference.alive;

    fputs("alive: ", out);
    for (size_t i = 0; i < verdict->diff.count; i++) {
        if (i) fputs(" -> ", out);
        put_amount(out, (double)alive[i]);
    }
}

static void
put_seconds(FILE *out, double seconds)
{
    if (seconds >= 2) fprintf(out, "%.0f s", seconds);
    else fprintf(out, "%.1f s", seconds);
}

/* All that grew: what is held by objects, and what is outside of them. */
static double
growth_of(const struct cli_leak_verdict *verdict)
{
    return (double)(verdict->growth + verdict->outside);
}

/* Writes ", growing by 86.5 MB an hour at the end". If memory grew less than half as fast in the
 * last step as before, it writes ", ever less: 305 kB in 30 s, then 21.2 kB in 30 s" instead: a
 * rate would promise too much. */
static void
put_rate(FILE *out, const struct cli_leak_verdict *verdict)
{
    double later = (double)verdict->later, before = growth_of(verdict) - later;
    double later_seconds = verdict->later_seconds, seconds = verdict->seconds - later_seconds;

    if (verdict->seconds < 1 || later_seconds <= 0) return;
    bool several = verdict->diff.count > 2;
    if (several && later * seconds * SLOWER < before * later_seconds) {
        fputs(", ever less: ", out);
        put_amount(out, before);
        fputs(" in ", out);
        put_seconds(out, seconds);
        fputs(", then ", out);
        put_amount(out, later);
        fputs(" in ", out);
        put_seconds(out, later_seconds);
        return;
    }
    fputs(", growing by ", out);
    put_amount(out, later / later_seconds * HOUR);
    fputs(several ? " an hour at the end" : " an hour", out);
}

/* ", and 212 bytes for each of 5,012 requests" */
static void
put_requests(FILE *out, const struct cli_leak_verdict *verdict)
{
    char requests[REPORT_COUNT_MAX];

    if (!verdict->requests) return;
    report_count(requests, verdict->requests, "request", "requests");
    fputs(", and ", out);
    put_amount(out, growth_of(verdict) / (double)verdict->requests);
    report_print(out, " for each of %s", requests);
}

/* "182 kB more is held by objects, and 12.5 MB outside of them, than 60 s before" */
static void
put_growth(FILE *out, const struct cli_leak_verdict *verdict)
{
    put_amount(out, (double)verdict->growth);
    if (verdict->outside > 0) {
        fputs(" more is held by objects, and ", out);
        put_amount(out, (double)verdict->outside);
        fputs(" outside of them,", out);
    }
    else fputs(" more is held", out);
    fputs(" than ", out);
    put_seconds(out, verdict->seconds);
    fputs(" before", out);
}

static void
put_head(FILE *out, const struct cli_leak_verdict *verdict, const char *name)
{
    report_print(out, "%s: ", name);
    if (verdict->row_count > 0) put_growth(out, verdict);
    else if (verdict->outside > 0) {
        fputs("no object grew, but memory outside of objects did: ", out);
        put_amount(out, (double)verdict->outside);
        fputs(" in ", out);
        put_seconds(out, verdict->seconds);
    }
    else {
        fputs("nothing grew in ", out);
        put_seconds(out, verdict->seconds);
    }
    if (cli_leak_found_p(verdict)) {
        put_rate(out, verdict);
        put_requests(out, verdict);
    }
    fputs(" (", out);
    put_alive(out, verdict);
    fputs(")\n", out);
}

/* ---- holders ---- */

/* "it grew by 980 kB, then 940 kB; 1,180 objects of it have outlived a step" */
static void
put_evidence(FILE *out, const struct cli_leak_verdict *verdict, const struct cli_leak_row *row)
{
    const struct graph_growth *growth = &verdict->diff.difference.all[row->number];

    fputs("             grew by ", out);
    for (size_t i = 1; i < verdict->diff.count; i++) {
        if (i > 1) fputs(", then ", out);
        put_amount(out, (double)(int64_t)(growth->bytes[i] - growth->bytes[i - 1]));
    }
    if (cli_leak_steps_p(verdict) && row->outlived_objects > 0) {
        fputs("; of the first step ", out);
        cli_graph_put_objects(out, row->outlived_objects);
        fputs(row->outlived_objects == 1 ? " is still there" : " are still there", out);
    }
    putc('\n', out);
}

static bool
put_row(FILE *out, const struct cli_leak_verdict *verdict, const struct cli_leak_row *row)
{
    struct cli_text text;
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, (double)graph_growth_bytes(&verdict->diff.difference, row->number),
                  "bytes");
    fprintf(out, "%11s  ", amount);
    if (!cli_text_begin(&text) || !cli_graph_diff_put(text.out, &verdict->diff, row->number))
        return false;
    cli_text_show(&text, 0, false);
    putc('\n', out);
    put_evidence(out, verdict, row);
    return true;
}

static bool
put_rows(FILE *out, const struct cli_leak_verdict *verdict)
{
    size_t shown = verdict->row_count < CLI_LEAK_ROWS_MOST ? verdict->row_count
                                                           : CLI_LEAK_ROWS_MOST;

    if (!shown) return true;
    fputs("\nWhat holds it, and what is new there:\n", out);
    for (size_t i = 0; i < shown; i++) {
        if (!put_row(out, verdict, &verdict->rows[i])) return false;
    }
    if (shown < verdict->row_count)
        fprintf(out, "             ... and %zu more\n", verdict->row_count - shown);
    return true;
}

/* ---- lines ---- */

/* "  endpoint: POST /cart, tenant: 7" */
static bool
put_labels(FILE *out, const struct graph_names *names, uint32_t doing)
{
    const char *at = graph_string(names, doing), *before = "";
    struct cli_graph_label label;
    struct cli_text text;

    if (!cli_text_begin(&text)) return false;
    for (; cli_leak_next_label(&at, &label); before = ", ")
        fprintf(text.out, "%s%.*s: %.*s", before, (int)label.key_length, label.key,
                (int)label.value_length, label.value);
    if (*before) fputs("  ", out);
    cli_text_show(&text, 0, false);
    return true;
}

static bool
put_line(FILE *out, const struct cli_leak_verdict *verdict, const struct cli_leak_line *line)
{
    const struct graph_names *names = &verdict->diff.graphs[verdict->diff.count - 1].graph.names;
    struct cli_text text;
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, line->bytes, "bytes");
    if (!cli_text_begin(&text)) return false;
    cli_graph_put_frame(text.out, names, line->site);
    fprintf(out, "%11s  ", amount);
    cli_text_show(&text, 0, false);
    if (!put_labels(out, names, line->doing)) return false;
    putc('\n', out);
    return true;
}

/* Few objects that are large may have no sample: which line has made them is not known. */
static bool
put_lineless(FILE *out, const struct cli_leak_verdict *verdict)
{
    struct cli_text text;
    char amount[REPORT_AMOUNT_MAX];

    if (verdict->lineless * SIDE_SHARE < verdict->bytes_of_lines) return true;
    if (!cli_text_begin(&text) ||
        !cli_graph_diff_put_holder(text.out, &verdict->diff,
                                   verdict->rows[verdict->lineless_row].number))
        return false;
    report_amount(amount, verdict->lineless, "bytes");
    fprintf(out, "%11s  in objects that no sample is of, most of it in ", amount);
    cli_text_show(&text, 0, false);
    putc('\n', out);
    return true;
}

static bool
put_lines(FILE *out, const struct cli_leak_verdict *verdict)
{
    double variance = 0;

    if (!verdict->line_count) return true;
    for (size_t i = 0; i < verdict->line_count; i++) variance += verdict->lines[i].variance;
    fprintf(out, "\nBy the line of the application that allocated it (estimated, +-%.0f%%):\n",
            100 * sqrt(variance) / verdict->bytes_of_lines);
    for (size_t i = 0; i < verdict->line_count && i < LINES_MOST; i++) {
        if (i && verdict->lines[i].bytes * SIDE_SHARE < verdict->bytes_of_lines) break;
        if (!put_line(out, verdict, &verdict->lines[i])) return false;
    }
    return put_lineless(out, verdict);
}

/* Few large objects, or one that grows, may have no sample. What they request of malloc has. */
static void
put_lines_of_ruby(FILE *out, const struct cli_leak_verdict *verdict)
{
    const struct cli_leak_blocks *blocks = verdict->blocks;

    if (verdict->bytes_of_lines * 2 >= (double)verdict->growth) return;
    if (!blocks || !blocks->of_ruby_count) return;
    fputs("\nMemory of malloc that ruby has requested meanwhile and that is still in use, by the "
          "line of the\napplication:\n", out);
    cli_leak_blocks_put(out, blocks->of_ruby, blocks->of_ruby_count);
}

/* ---- the rest ---- */

/* "the stacks of 3 new threads and 204 new fibers, " */
static void
put_stacks(FILE *out, const struct cli_leak_verdict *verdict)
{
    char threads[REPORT_COUNT_MAX], fibers[REPORT_COUNT_MAX];

    report_count(threads, verdict->threads, "new thread", "new threads");
    report_count(fibers, verdict->fibers, "new fiber", "new fibers");
    if (verdict->threads + verdict->fibers == 0) return;
    report_print(out, "the stacks of %s%s%s, ", verdict->threads ? threads : "",
                 verdict->threads && verdict->fibers ? " and " : "",
                 verdict->fibers ? fibers : "");
}

static void
put_memory(FILE *out, const struct cli_leak_verdict *verdict)
{
    if (verdict->resident == 0 && verdict->outside == 0) return;
    fputs("\nRSS: ", out);
    put_amount(out, (double)verdict->resident);
    fputs(" more", out);
    if (verdict->outside > 0) {
        fputs(". ", out);
        put_amount(out, (double)verdict->outside);
        fputs(" of it is neither in objects nor the profiler's, and grew in each step:\n", out);
        put_stacks(out, verdict);
        fputs("C code, or room that is in use in part", out);
    }
    else fputs(". Outside of objects nothing grew in each step", out);
    putc('\n', out);
    if (verdict->outside > 0 && verdict->blocks && verdict->blocks->count) {
        fputs("Memory of malloc that was requested meanwhile and is still in use:\n", out);
        cli_leak_blocks_put(out, verdict->blocks->all, verdict->blocks->count);
        if (cli_leak_blocks_bytes(verdict->blocks) > (double)verdict->outside)
            fputs("That is more than RSS grew, because what was never touched takes no memory "
                  "yet.\n", out);
    }
}

static void
put_certainty(FILE *out, const struct cli_leak_verdict *verdict)
{
    const char *inexact = verdict->diff.difference.inexact;

    fputs("How certain: ", out);
    if (inexact) report_print(out, "objects were paired by their places, because %s\n", inexact);
    else if (!cli_leak_steps_p(verdict))
        fputs("two dumps; a cache that fills looks the same. A third dump tells what stays\n",
              out);
    else if (!verdict->row_count)
        fprintf(out, "no holder grew in each of %zu steps, and by 1/1000 of the heap\n",
                verdict->diff.count - 1);
    else
        fprintf(out, "the same holders grew in each of %zu steps, and what came first is still "
                "there. A cache\nthat fills looks the same: ask once more, later or for longer\n",
                verdict->diff.count - 1);
}

static void
put_next(FILE *out, const struct cli_leak_verdict *verdict, int pid)
{
    char **paths = verdict->cli.operands;
    size_t last = verdict->diff.count - 1;
    const struct graph *graph = &verdict->diff.graphs[last].graph;
    uint32_t example = verdict->row_count
                           ? cli_graph_diff_shown(&verdict->diff, verdict->rows[0].number).example
                           : 0;

    fputs("Next: ", out);
    if (example) {
        report_print(out, "heapprof graph why %s 0x%" PRIx64 "\n", paths[last],
                     graph_address(graph, example));
        fputs("      heapprof graph view", out);
        for (size_t i = 0; i <= last; i++) report_print(out, " %s", paths[i]);
        putc('\n', out);
    }
    else if (verdict->outside > 0 && pid)
        fprintf(out, "heapprof start --malloc=all %d; later heapprof snapshot %d, and heapprof top "
                "of that file;\n      heapprof memcheck -- a test of that extension\n", pid, pid);
    else if (pid) fprintf(out, "heapprof leak -d 600 %d\n", pid);
    else report_print(out, "heapprof graph report %s\n", paths[last]);
}

bool
cli_leak_put(FILE *out, const struct cli_leak_verdict *verdict, const char *name, int pid)
{
    put_head(out, verdict, name);
    if (!put_rows(out, verdict) || !put_lines(out, verdict)) return false;
    put_lines_of_ruby(out, verdict);
    put_memory(out, verdict);
    put_certainty(out, verdict);
    put_next(out, verdict, pid);
    return true;
}

bool
cli_leak_put_line(FILE *out, const struct cli_leak_verdict *verdict, const char *name)
{
    struct cli_text text;

    report_print(out, "%s: ", name);
    if (!verdict->row_count) {
        fputs(verdict->outside > 0 ? "memory outside of objects grew\n" : "nothing grew\n", out);
        return true;
    }
    put_amount(out, (double)verdict->growth);
    if (verdict->outside > 0) {
        fputs(" more in objects, and ", out);
        put_amount(out, (double)verdict->outside);
        fputs(" outside of them; the objects mostly in ", out);
    }
    else fputs(" more, most of it in ", out);
    if (!cli_text_begin(&text) ||
        !cli_graph_diff_put(text.out, &verdict->diff, verdict->rows[0].number))
        return false;
    cli_text_show(&text, 0, false);
    putc('\n', out);
    return true;
}
