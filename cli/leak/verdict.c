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
#define STACK_BYTES 16384        /* of a thread or fiber that has called little */
#define STACKS_SHARE 10          /* of what is outside: less than 1/10 explains nothing */

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
        verdict->later += graph_growth_later(difference, i);
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

static int
by_group_and_line(const void *a, const void *b, void *data)
{
    const struct cli_leak_line *one = a, *other = b;

    if (one->group != other->group) return one->group < other->group ? -1 : 1;
    return by_line(a, b, data);
}

static size_t
merge_lines(struct cli_leak_line *lines, size_t count, const struct graph_names *names,
            int (*compare)(const void *, const void *, void *))
{
    size_t kept = 0;

    qsort_r(lines, count, sizeof(*lines), compare, (void *)names);
    for (size_t i = 0; i < count; i++) {
        if (kept && compare(&lines[kept - 1], &lines[i], (void *)names) == 0) {
            lines[kept - 1].bytes += lines[i].bytes;
            lines[kept - 1].variance += lines[i].variance;
            lines[kept - 1].samples += lines[i].samples;
        }
        else lines[kept++] = lines[i];
    }
    return kept;
}

/* How much is new is known exactly, and which line has allocated it of samples. A large String is
 * sampled as seldom as a small one, for its slot is as large. So the new objects of a holder that
 * are about as large are a group: its bytes are those of its lines, as its samples are divided. */
struct group {
    double bytes, sampled;       /* of all objects, and of its samples */
    uint32_t samples;
};

#define SIZES 64                 /* a power of two each */

static bool
new_p(const struct cli_leak_verdict *verdict, uint32_t object)
{
    return verdict->diff.difference.rows[object] && !verdict->diff.difference.survived[object];
}

/* By row of the difference: where its groups begin, or NONE if it is not told. */
#define NONE SIZE_MAX

static size_t *
find_groups(const struct cli_leak_verdict *verdict)
{
    size_t count = (size_t)verdict->diff.difference.count + 1;
    size_t *groups = malloc(count * sizeof(*groups));

    for (size_t i = 0; groups && i < count; i++) groups[i] = NONE;
    for (size_t i = 0; groups && i < verdict->row_count; i++)
        groups[verdict->rows[i].number] = i * SIZES;
    return groups;
}

/* Returns NONE for an object that is not new, or not told. */
static size_t
group_of(const struct cli_leak_verdict *verdict, const size_t *groups, uint32_t object)
{
    uint64_t size = last_graph(verdict)->sizes[object];
    uint32_t row = verdict->diff.difference.rows[object];
    size_t first = new_p(verdict, object) ? groups[row - 1] : NONE;

    return first == NONE ? NONE : first + (size ? 63 - (size_t)__builtin_clzll(size) : 0);
}

static size_t
collect_samples(struct cli_leak_line *lines, struct group *all, const size_t *groups,
                const struct cli_leak_verdict *verdict)
{
    const struct graph *last = last_graph(verdict);
    size_t count = 0;

    for (uint32_t i = 0; i < last->sample_count; i++) {
        const struct graph_sample *sample = &last->samples[i];
        size_t group = group_of(verdict, groups, sample->object);
        if (group == NONE) continue;
        double bytes = (double)sample->weight * (double)last->sizes[sample->object];
        if (bytes <= 0) continue;
        lines[count++] = (struct cli_leak_line){
            .site = cli_graph_own_site(&last->names, sample->stack), .doing = sample->doing,
            .bytes = bytes, .group = group, .samples = 1,
        };
        all[group].sampled += bytes;
        all[group].samples++;
    }
    return count;
}

/* The variance is that of a share of which so many of so many samples are known (Beta, with every
 * share as likely as any other before). */
static void
divide_groups(struct cli_leak_line *lines, size_t count, const struct group *all)
{
    for (size_t i = 0; i < count; i++) {
        const struct group *group = &all[lines[i].group];
        double share = (lines[i].samples + 1.0) / (group->samples + 2.0);
        lines[i].bytes *= group->bytes / group->sampled;
        lines[i].variance = group->bytes * group->bytes * share * (1 - share) /
                            (group->samples + 3.0);
    }
}

/* What has samples has lines. */
static void
add_groups(struct cli_leak_verdict *verdict, const struct group *all)
{
    double most = 0;

    for (size_t row = 0; row < verdict->row_count; row++) {
        const struct group *group = &all[row * SIZES];
        double lineless = 0;
        for (int i = 0; i < SIZES; i++, group++)
            *(group->samples ? &verdict->bytes_of_lines : &lineless) += group->bytes;
        if (lineless > most) {
            most = lineless;
            verdict->lineless_row = row;
        }
        verdict->lineless += lineless;
    }
}

static void
add_lines(struct cli_leak_verdict *verdict, struct group *all, const size_t *groups)
{
    const struct graph *last = last_graph(verdict);

    for (uint32_t i = 1; i <= last->count; i++) {
        size_t group = group_of(verdict, groups, i);
        if (group != NONE) all[group].bytes += (double)last->sizes[i];
    }
    verdict->line_count = collect_samples(verdict->lines, all, groups, verdict);
    verdict->line_count = merge_lines(verdict->lines, verdict->line_count, &last->names,
                                      by_group_and_line);
    divide_groups(verdict->lines, verdict->line_count, all);
    verdict->line_count = merge_lines(verdict->lines, verdict->line_count, &last->names, by_line);
    qsort(verdict->lines, verdict->line_count, sizeof(*verdict->lines), larger_line_first);
    add_groups(verdict, all);
}

static bool
find_lines(struct cli_leak_verdict *verdict)
{
    struct group *all = calloc(verdict->row_count * SIZES + 1, sizeof(*all));
    size_t *groups = find_groups(verdict);

    verdict->lines = calloc((size_t)last_graph(verdict)->sample_count + 1, sizeof(*verdict->lines));
    bool room = all && groups && verdict->lines;
    if (room) add_lines(verdict, all, groups);
    free(all);
    free(groups);
    return room;
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
    else verdict->later += outside_of(verdict, last - 1);
    double end = fact(verdict, last, "time");
    verdict->seconds = (end - fact(verdict, 0, "time")) / 1e9;
    verdict->later_seconds = (end - fact(verdict, last - 1, "time")) / 1e9;
    double before = fact(verdict, 0, "resident");
    if (before > 0) verdict->resident = (int64_t)(fact(verdict, last, "resident") - before);
}

/* Counts the new objects of that type. */
static uint64_t
count_new(const struct cli_leak_verdict *verdict, const char *type)
{
    const struct graph *last = last_graph(verdict);
    const struct graph_difference *difference = &verdict->diff.difference;
    uint64_t count = 0;

    for (uint32_t i = 1; i <= last->count; i++) {
        const struct graph_layout *layout = &last->names.layouts[last->layouts[i]];
        if (layout->thread && difference->rows[i] && !difference->survived[i] &&
            !strcmp(graph_string(&last->names, layout->type), type))
            count++;
    }
    return count;
}

/* The stack of a thread or fiber is in no object. How large it is no dump says. */
static void
find_stacks(struct cli_leak_verdict *verdict)
{
    if (verdict->outside <= 0) return;
    verdict->threads = count_new(verdict, "T_DATA(VM/thread)");
    verdict->fibers = count_new(verdict, "T_DATA(fiber)");
    uint64_t bytes = (verdict->threads + verdict->fibers) * STACK_BYTES;
    if (bytes * STACKS_SHARE < (uint64_t)verdict->outside) verdict->threads = verdict->fibers = 0;
}

/* ---- the whole ---- */

static bool
same_fact_p(const struct cli_leak_verdict *verdict, size_t dump, const char *key)
{
    const char *text = graph_fact(&verdict->diff.graphs[dump].graph.names, key);
    const char *before = graph_fact(&verdict->diff.graphs[dump - 1].graph.names, key);

    return text && before && !strcmp(text, before);
}

/* Time goes on from dump to dump. Returns a status. */
static int
check_times(const struct cli_leak_verdict *verdict)
{
    char **paths = verdict->cli.operands;

    for (size_t i = 1; i < verdict->diff.count; i++) {
        if (same_fact_p(verdict, i, "set") && same_fact_p(verdict, i, "dump"))
            return cli_wrong(&verdict->cli, "%s and %s are the same dump: give dumps of several "
                             "times", paths[i - 1], paths[i]);
        if (fact(verdict, i, "time") < fact(verdict, i - 1, "time"))
            return cli_wrong(&verdict->cli, "%s was taken after %s, which is of another process: "
                             "give the older one first", paths[i - 1], paths[i]);
    }
    return CLI_DONE;
}

int
cli_leak_find(struct cli_leak_verdict *verdict, const struct cli *cli, char **paths, size_t count)
{
    *verdict = (struct cli_leak_verdict){.cli = *cli};
    verdict->cli.operands = paths;
    verdict->cli.operand_count = count;
    int status = cli_graph_diff_read(&verdict->diff, &verdict->cli, 0);
    if (status == CLI_DONE) status = check_times(verdict);
    if (status != CLI_DONE) return status;
    if (!find_rows(verdict) || !find_lines(verdict)) return cli_wrong(cli, "no memory");
    find_outside(verdict);
    find_stacks(verdict);
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
