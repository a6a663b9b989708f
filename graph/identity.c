/* identity.c - uses what the dumps say about themselves: their process, their order, and which
 * objects were in the dump before. */
#include "graph/identity.h"

#include <stdlib.h>
#include <string.h>

static bool
survivors_p(const struct graph *graph)
{
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (graph->bits[object] & HEAPPROF_DUMP_SURVIVOR) return true;
    }
    return false;
}

const char *
graph_inexact(const struct graph *earlier, const struct graph *later)
{
    const char *set = graph_fact(&earlier->names, "set"),
               *other_set = graph_fact(&later->names, "set");
    const char *number = graph_fact(&earlier->names,
                                    "dump"), *next = graph_fact(&later->names, "dump");

    if (!set || !other_set || strcmp(set, other_set)) return "they are not of one process";
    if (!number || !next || strtoull(number, NULL, 10) + 1 != strtoull(next, NULL, 10)) {
        return "the dumps do not follow one another";
    }
    return survivors_p(later) ? NULL
                              : "the later dump does not say which objects were there before";
}

static int
by_destination(const void *a, const void *b)
{
    const struct graph_move *one = a, *other = b;

    return (one->to > other->to) - (one->to < other->to);
}

void
graph_sort_moves(struct graph *later)
{
    if (later->move_count)
        qsort(later->moves, later->move_count, sizeof(*later->moves), by_destination);
}

uint32_t
graph_before(const struct graph *earlier, const struct graph *later, uint32_t object)
{
    struct graph_move key = {0, graph_address(later, object)};
    const struct graph_move *move = NULL;

    if (!(later->bits[object] & HEAPPROF_DUMP_SURVIVOR)) return 0;
    if (later->move_count)
        move = bsearch(&key, later->moves, later->move_count, sizeof(key), by_destination);
    return graph_find(earlier, move ? move->from : key.to);
}

bool
graph_ids_make(struct graph_ids *ids, struct graph *graph,
               const struct graph *earlier, const struct graph_ids *earlier_ids)
{
    *ids = (struct graph_ids){.space = &graph->space, .next = earlier_ids ? earlier_ids->next : 1};
    if (!GRAPH_SPACE_GROW(ids->space, ids->ids, ids->ids_capacity,
                          (size_t)graph->count + 1)) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        uint32_t before = earlier ? graph_before(earlier, graph, object) : 0;
        ids->ids[object] = before ? earlier_ids->ids[before] : ids->next++;
    }
    return true;
}

void
graph_ids_free(struct graph_ids *ids)
{
    GRAPH_SPACE_RELEASE(ids->space, ids->ids, ids->ids_capacity);
}
