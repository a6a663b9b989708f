/* verdict.c - finds what grew in the dumps of one process.
 *
 *     first dump            second dump             last dump
 *         |--- born here ------|--- still there? -----|
 *
 * What was born between two dumps may be at work: a request that goes on, a cache that fills. So an
 * object counts if it was born before the last dump but one, and is there in the last: it has
 * outlived a whole step (HEAPPROF_DUMP_SURVIVOR). And its holder counts if it grew from each dump
 * to the next. No collection is needed for that: a dump says what can be reached.
 *
 * With two dumps, or with dumps that do not say which object is which, all that is new counts. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "cli/leak/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/label_sets.h"

#define LEAST_BYTES 16384        /* in a small program, less is caches of the VM */
#define LEAST_SHARE 1000         /* of what is alive */
#define OUTSIDE_LEAST (1 << 20)  /* bytes in each step; less is the allocator's own business */
#define OUTSIDE_SHARE 50         /* of RSS */

static const struct graph *
last_graph(const struct cli_leak_verdict *verdict)
{
    return &verdict->diff.graphs[verdict->diff.count - 1].graph;
}

/* ---- holders ---- */

static bool
outlived_p(const struct cli_leak_verdict *verdict, uint32_t object)
{
    const struct graph_difference *difference = &verdict->diff.difference;

    return difference->rows[object] && !difference->survived[object] &&
           (!cli_leak_steps_p(verdict) ||
            last_graph(verdict)->bits[object] & HEAPPROF_DUMP_SURVIVOR);
}

static void
add_objects(const struct cli_leak_verdict *verdict, struct cli_leak_row *all)
{
    const struct graph *last = last_graph(verdict);

    for (uint32_t i = 1; i <= last->count; i++) {
        if (!outlived_p(verdict, i)) continue;
        struct cli_leak_row *row = &all[verdict->diff.difference.rows[i] - 1];
        row->outlived_bytes += last->sizes[i];
        row->outlived_objects++;
    }
}

/* What lasts has to be a part of the growth that one step of a steady leak has. */
static bool
leaks_p(const struct cli_leak_verdict *verdict, const struct cli_leak_row *row, int64_t least)
{
    const struct graph_difference *difference = &verdict->diff.difference;
    int64_t growth = graph_growth_bytes(difference, row->number);
    int64_t grown = difference->all[row->number].grown;
    uint64_t lasts = row->outlived_bytes + (grown > 0 ? (uint64_t)grown : 0);

    return growth >= least && graph_growth_each_time_p(difference, row->number) &&
           lasts * 2 * verdict->diff.count >= (uint64_t)growth;
}

static int
larger_growth_first(const void *a, const void *b, void *data)
{
    const struct graph_difference *difference = data;
    const struct cli_leak_row *one = a, *other = b;
    int64_t first = graph_growth_bytes(difference, one->number);
    int64_t second = graph_growth_bytes(difference, other->number);

    return (first < second) - (first > second);
}

static bool
find_rows(struct cli_leak_verdict *verdict)
{
    struct graph_difference *difference = &verdict->diff.difference;
    int64_t least = (int64_t)(difference->alive[verdict->diff.count - 1] / LEAST_SHARE);
    struct cli_leak_row *all = calloc((size_t)difference->count + 1, sizeof(*all));

    if (!all) return false;
    if (least < LEAST_BYTES) least = LEAST_BYTES;
    verdict->rows = all;
    add_objects(verdict, all);
    for (uint32_t i = 0; i < difference->count; i++) {
        all[i].number = i;
        if (!leaks_p(verdict, &all[i], least)) continue;
        verdict->growth += graph_growth_bytes(difference, i);
        all[verdict->row_count++] = all[i];
    }
    qsort_r(all, verdict->row_count, sizeof(*all), larger_growth_first, difference);
    return true;
}

/* ---- lines ---- */

bool
cli_leak_next_label(const char **at, struct cli_graph_label *label)
{
    static const char thread[] = HEAPPROF_LABEL_THREAD;

    while (cli_graph_next_label(at, label)) {
        if (label->key_length != sizeof(thread) - 1 ||
            memcmp(label->key, thread, sizeof(thread) - 1))
            return true;
    }
    return false;
}

/* Each key and each value has an end, so a label that begins like another one is the same. */
static int
compare_labels(const struct graph_names *names, uint32_t one, uint32_t other)
{
    const char *at = graph_string(names, one), *other_at = graph_string(names, other);
    struct cli_graph_label label, other_label;
    int order = 0;

    while (order == 0) {
        bool more = cli_leak_next_label(&at, &label);
        bool other_more = cli_leak_next_label(&other_at, &other_label);
        if (!more || !other_more) return more - other_more;
        order = strncmp(label.key, other_label.key, (size_t)(at - label.key));
    }
    return order;
}

static int
compare_numbers(uint32_t one, uint32_t other)
{
    return (one > other) - (one < other);
}

/* By file, line and labels: a line is one line, whoever has called it. */
static int
by_line(const void *a, const void *b, void *data)
{
    const struct graph_names *names = data;
    const struct cli_leak_line *one = a, *other = b;
    const struct heapprof_dump_stack *frame = &names->stacks[one->site];
    const struct heapprof_dump_stack *other_frame = &names->stacks[other->site];
    int order = compare_numbers(frame->file, other_frame->file);

    if (!order) order = compare_numbers(frame->line, other_frame->line);
    if (!order) order = compare_numbers(frame->method, other_frame->method);
    return order ? order : compare_labels(names, one->doing, other->doing);
}

static int
larger_line_first(const void *a, const void *b)
{
    const struct cli_leak_line *one = a, *other = b;

    return (one->bytes < other->bytes) - (one->bytes > other->bytes);
}

static size_t
merge_lines(struct cli_leak_line *lines, size_t count, const struct graph_names *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept && by_line(&lines[kept - 1], &lines[i], (void *)names) == 0) {
            lines[kept - 1].bytes += lines[i].bytes;
            lines[kept - 1].squares += lines[i].squares;
        }
        else lines[kept++] = lines[i];
    }
    return kept;
}

/* By row of the difference: whether it is told. */
static bool *
mark_told(const struct cli_leak_verdict *verdict)
{
    bool *told = calloc((size_t)verdict->diff.difference.count + 1, sizeof(*told));

    for (size_t i = 0; told && i < verdict->row_count; i++) told[verdict->rows[i].number] = true;
    return told;
}

/* Of all that is new in the rows that are told. */
static bool
find_lines(struct cli_leak_verdict *verdict)
{
    const struct graph *last = last_graph(verdict);
    struct cli_leak_line *lines = calloc((size_t)last->sample_count + 1, sizeof(*lines));
    bool *told = mark_told(verdict);
    size_t count = 0;

    verdict->lines = lines;
    for (uint32_t i = 0; lines && told && i < last->sample_count; i++) {
        const struct graph_sample *sample = &last->samples[i];
        uint32_t row = verdict->diff.difference.rows[sample->object];
        if (!row || !told[row - 1] || verdict->diff.difference.survived[sample->object]) continue;
        double bytes = (double)sample->weight / 1000 * (double)last->sizes[sample->object];
        lines[count++] = (struct cli_leak_line){
            .site = cli_graph_own_site(&last->names, sample->stack), .doing = sample->doing,
            .bytes = bytes, .squares = bytes * bytes,
        };
        verdict->bytes_of_lines += bytes;
    }
    if (lines) {
        qsort_r(lines, count, sizeof(*lines), by_line, (void *)&last->names);
        verdict->line_count = merge_lines(lines, count, &last->names);
        qsort(lines, verdict->line_count, sizeof(*lines), larger_line_first);
    }
    free(told);
    return lines && told;
}

/* ---- outside of objects ---- */

/* A number that the dump says of its process; 0 if it does not. */
static double
fact(const struct cli_leak_verdict *verdict, size_t dump, const char *key)
{
    const char *text = graph_fact(&verdict->diff.graphs[dump].graph.names, key);

    return text ? strtod(text, NULL) : 0;
}

/* What RSS grew from a dump to the next, without what objects and the profiler grew. */
static int64_t
outside_of(const struct cli_leak_verdict *verdict, size_t dump)
{
    const uint64_t *alive = verdict->diff.difference.alive;
    double grown = fact(verdict, dump + 1, "resident") - fact(verdict, dump, "resident");
    double profiler = fact(verdict, dump + 1, "profiler") - fact(verdict, dump, "profiler");

    if (fact(verdict, dump, "resident") == 0) return 0;
    return (int64_t)(grown - profiler) - (int64_t)(alive[dump + 1] - alive[dump]);
}

/* Free room in heap pages and in the allocator comes and goes. So it is told only if it grew much,
 * and each time. */
static void
find_outside(struct cli_leak_verdict *verdict)
{
    size_t last = verdict->diff.count - 1;
    int64_t least = (int64_t)fact(verdict, last, "resident") / OUTSIDE_SHARE;
    bool each = true;

    if (least < OUTSIDE_LEAST) least = OUTSIDE_LEAST;
    for (size_t i = 0; i < last; i++) {
        int64_t step = outside_of(verdict, i);
        verdict->outside += step;
        each = each && step >= least;
    }
    if (!each) verdict->outside = 0;
    verdict->seconds = (fact(verdict, last, "time") - fact(verdict, 0, "time")) / 1e9;
    double before = fact(verdict, 0, "resident");
    if (before > 0) verdict->resident = (int64_t)(fact(verdict, last, "resident") - before);
}

/* ---- the whole ---- */

int
cli_leak_find(struct cli_leak_verdict *verdict, const struct cli *cli, char **paths, size_t count)
{
    *verdict = (struct cli_leak_verdict){.cli = *cli};
    verdict->cli.operands = paths;
    verdict->cli.operand_count = count;
    int status = cli_graph_diff_read(&verdict->diff, &verdict->cli, 0);
    if (status != CLI_DONE) return status;
    if (!find_rows(verdict) || !find_lines(verdict)) return cli_wrong(cli, "no memory");
    find_outside(verdict);
    return CLI_DONE;
}

void
cli_leak_free(struct cli_leak_verdict *verdict)
{
    free(verdict->rows);
    free(verdict->lines);
    cli_graph_diff_free(&verdict->diff);
}

bool
cli_leak_found_p(const struct cli_leak_verdict *verdict)
{
    return verdict->row_count > 0 || verdict->outside > 0;
}

bool
cli_leak_steps_p(const struct cli_leak_verdict *verdict)
{
    return verdict->diff.count > 2 && !verdict->diff.difference.inexact;
}
