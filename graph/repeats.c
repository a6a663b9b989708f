/* repeats.c - finds the contents first, and then adds each object up that is not the only one with
 * its content. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "graph/repeats.h"

#include <stdlib.h>

#define GROW(repeats, array, count) \
    GRAPH_SPACE_GROW((repeats)->space, (repeats)->array, (repeats)->array##_capacity, \
                     (size_t)(count))

/* ---- lines ---- */

static int
compare(uint32_t one, uint32_t other)
{
    return (one > other) - (one < other);
}

static int
compare_lines(const struct heapprof_dump_stack *one, const struct heapprof_dump_stack *other)
{
    int order = compare(one->file, other->file);

    if (!order) order = compare(one->line, other->line);
    return order ? order : compare(one->method, other->method);
}

static int
by_line(const void *a, const void *b, void *stacks)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    int order = compare_lines((const struct heapprof_dump_stack *)stacks + one,
                              (const struct heapprof_dump_stack *)stacks + other);

    return order ? order : compare(one, other);
}

/* Stacks with one line stand side by side once they are sorted. */
static bool
find_lines(struct graph_repeats *repeats, const struct graph_names *names)
{
    uint32_t count = names->stack_count, first = 0, *order;

    if (!GROW(repeats, lines, count)) return false;
    order = malloc(count * sizeof(*order));
    if (!order) return false;
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    if (count > 1) qsort_r(order + 1, count - 1, sizeof(*order), by_line, names->stacks);
    for (uint32_t i = 1; i < count; i++) {
        if (i == 1 || compare_lines(&names->stacks[order[i]], &names->stacks[first]))
            first = order[i];
        repeats->lines[order[i]] = first;
    }
    free(order);
    return true;
}

/* ---- adding up ---- */

static bool
add(struct graph_repeats *repeats, const struct graph *graph, uint32_t object,
    enum graph_repeats_by by)
{
    const struct graph_duplicate *content = &repeats->duplicates.all[repeats->contents[object] - 1];
    const struct graph_sample *sample =
        by == GRAPH_REPEATS_BY_LINE ? graph_sample(graph, object) : NULL;
    double weight = sample ? (double)sample->weight / 1000 : 1;
    struct graph_repeat *row;
    uint32_t key = 0;

    if (by == GRAPH_REPEATS_BY_HOLDER) key = repeats->patterns.of[object];
    else if (sample) key = repeats->lines[graph_site(&graph->names, sample->stack)];
    if (!repeats->by_key[key]) {
        if (!GROW(repeats, all, repeats->count + 1)) return false;
        repeats->all[repeats->count] = (struct graph_repeat){.key = key, .example = object};
        repeats->by_key[key] = ++repeats->count;
    }
    row = &repeats->all[repeats->by_key[key] - 1];
    row->objects += weight;
    row->wasted += weight * (double)graph_wasted(content) / content->objects;
    return true;
}

static int
more_wasted(const void *a, const void *b)
{
    const struct graph_repeat *one = a, *other = b;

    if (one->wasted != other->wasted) return one->wasted < other->wasted ? 1 : -1;
    return compare(one->example, other->example);
}

bool
graph_repeats_make(struct graph_repeats *repeats, struct graph *graph,
                   const struct graph_tree *shortest, size_t limit_bytes, enum graph_repeats_by by)
{
    uint32_t keys;

    *repeats = (struct graph_repeats){.space = &graph->space};
    if (!GROW(repeats, contents, (size_t)graph->count + 1) ||
        !graph_duplicates_find(&repeats->duplicates, graph, limit_bytes, repeats->contents))
        return false;
    if (by == GRAPH_REPEATS_BY_LINE && !find_lines(repeats, &graph->names)) return false;
    if (by == GRAPH_REPEATS_BY_HOLDER && !graph_patterns_make(&repeats->patterns, graph, shortest))
        return false;
    keys = by == GRAPH_REPEATS_BY_LINE ? graph->names.stack_count : repeats->patterns.count;
    if (!GROW(repeats, by_key, keys)) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        uint32_t content = repeats->contents[object];
        if (!content || repeats->duplicates.all[content - 1].objects < 2) continue;
        if (!add(repeats, graph, object, by)) return false;
    }
    if (repeats->count) qsort(repeats->all, repeats->count, sizeof(*repeats->all), more_wasted);
    return true;
}

void
graph_repeats_free(struct graph_repeats *repeats)
{
    if (repeats->patterns.space) graph_patterns_free(&repeats->patterns);
    if (repeats->duplicates.names.space) graph_duplicates_free(&repeats->duplicates);
    GRAPH_SPACE_RELEASE(repeats->space, repeats->all, repeats->all_capacity);
    GRAPH_SPACE_RELEASE(repeats->space, repeats->contents, repeats->contents_capacity);
    GRAPH_SPACE_RELEASE(repeats->space, repeats->lines, repeats->lines_capacity);
    GRAPH_SPACE_RELEASE(repeats->space, repeats->by_key, repeats->by_key_capacity);
}
