/* largest.c - finds the largest of many without sorting them all, and finds their referrers in
 * one pass over all references. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "graph/largest.h"

#include <stdlib.h>

#define GROW(chosen, array, count) \
    GRAPH_SPACE_GROW((chosen)->space, (chosen)->array, (chosen)->array##_capacity, (size_t)(count))

/* ---- the largest ---- */

static int
larger_first(const void *a, const void *b, void *data)
{
    const uint64_t *values = data;
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return values[one] != values[other]
               ? (values[one] < values[other]) - (values[one] > values[other])
               : (one > other) - (one < other);
}

void
graph_largest_sort(uint32_t *numbers, uint32_t count, const uint64_t *values)
{
    if (count) qsort_r(numbers, count, sizeof(*numbers), larger_first, (void *)values);
}

/* When the array holds twice as many numbers as wanted, the smaller half is dropped. From then
 * on, a value that is not larger than the dropped ones is skipped. */
uint32_t
graph_largest_find(uint32_t *numbers, uint32_t most, const uint64_t *values, uint32_t count)
{
    uint32_t found = 0;
    uint64_t least = 0;

    for (uint32_t number = 0; number < count; number++) {
        if (values[number] <= least) continue;
        numbers[found++] = number;
        if (found < 2 * most) continue;
        graph_largest_sort(numbers, found, values);
        found = most;
        least = values[numbers[most - 1]];
    }
    graph_largest_sort(numbers, found, values);
    return found < most ? found : most;
}

/* ---- objects that were chosen ---- */

bool
graph_chosen_add(struct graph_chosen *chosen, uint32_t object)
{
    if (chosen->places[object]) return true;
    if (!GROW(chosen, objects, chosen->count + 1)) return false;
    chosen->objects[chosen->count] = object;
    chosen->places[object] = ++chosen->count;
    return true;
}

bool
graph_chosen_make(struct graph_chosen *chosen, struct graph *graph,
                  const struct graph_dominators *dominators, uint32_t most)
{
    if (most > graph->count) most = graph->count + 1;
    *chosen = (struct graph_chosen){.space = &graph->space};
    if (!GROW(chosen, places, graph->count + 1) ||
        !GROW(chosen, objects, 2 * (size_t)most)) return false;
    /* The root is no object; the numbers are one less than those of the objects. */
    chosen->count = graph_largest_find(chosen->objects, most, dominators->retained + 1,
                                       graph->count);
    for (uint32_t i = 0; i < chosen->count; i++) chosen->places[++chosen->objects[i]] = i + 1;
    return true;
}

void
graph_chosen_free(struct graph_chosen *chosen)
{
    GRAPH_SPACE_RELEASE(chosen->space, chosen->objects, chosen->objects_capacity);
    GRAPH_SPACE_RELEASE(chosen->space, chosen->places, chosen->places_capacity);
    GRAPH_SPACE_RELEASE(chosen->space, chosen->referrers, chosen->referrers_capacity);
    GRAPH_SPACE_RELEASE(chosen->space, chosen->referrer_counts, chosen->referrer_counts_capacity);
}

/* ---- what refers to them ---- */

static void
refer(struct graph_chosen *chosen, uint32_t from, uint32_t to, uint32_t label)
{
    uint32_t place = chosen->places[to], number;

    if (!place) return;
    number = chosen->referrer_counts[place - 1]++;
    if (number < chosen->most) {
        chosen->referrers[(size_t)(place - 1) * chosen->most + number] =
            (struct graph_referrer){ from, label };
    }
}

bool
graph_chosen_find_referrers(struct graph_chosen *chosen, const struct graph *graph,
                            uint32_t most)
{
    chosen->most = most;
    if (!GROW(chosen, referrers, (size_t)chosen->count * most + 1) ||
        !GROW(chosen, referrer_counts, chosen->count + 1)) return false;
    for (uint32_t i = 0; i < graph->root_count; i++) {
        refer(chosen, 0, graph->roots[i].target, graph_root_label(&graph->roots[i]));
    }
    for (uint32_t from = 1; from <= graph->count; from++) {
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            refer(chosen, from, graph->targets[i], graph->labels[i]);
        }
        refer(chosen, from, graph_class(graph, from), graph_label(HEAPPROF_DUMP_CLASS, 0));
    }
    return true;
}
