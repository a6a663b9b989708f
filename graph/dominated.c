/* dominated.c - counts the children of each object, and then puts each child in its place. */
#include "graph/dominators.h"

#include <string.h>

bool
graph_dominated_make(struct graph_dominated *dominated, struct graph *graph,
                     const struct graph_dominators *dominators)
{
    const uint32_t *parents = dominators->dominators;
    uint32_t *first, *children, sum = 0;
    size_t count = (size_t)graph->count + 1;

    *dominated = (struct graph_dominated){.space = &graph->space};
    if (!GRAPH_SPACE_GROW(&graph->space, dominated->first, dominated->first_capacity, count + 1) ||
        !GRAPH_SPACE_GROW(&graph->space, dominated->children, dominated->children_capacity,
                          count)) return false;
    first = dominated->first;
    children = dominated->children;
    for (uint32_t i = 1; i < count; i++) {
        if (parents[i] != GRAPH_UNREACHED) first[parents[i] + 1]++;
    }
    for (size_t i = 0; i <= count; i++) first[i] = sum += first[i];
    for (uint32_t i = 1; i < count; i++) {
        if (parents[i] != GRAPH_UNREACHED) children[first[parents[i]]++] = i;
    }
    memmove(first + 1, first, count * sizeof(*first));
    first[0] = 0;
    return true;
}

void
graph_dominated_free(struct graph_dominated *dominated)
{
    GRAPH_SPACE_RELEASE(dominated->space, dominated->first, dominated->first_capacity);
    GRAPH_SPACE_RELEASE(dominated->space, dominated->children, dominated->children_capacity);
}
