/* identity.c - by what the dumps say of themselves: of which process, which in their order, and which objects were there. */
#include "graph/identity.h"

#include <stdlib.h>
#include <string.h>

static bool
survivors_p(const struct heapprof_graph *graph)
{
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (graph->bits[object] & HEAPPROF_DUMP_SURVIVOR) return true;
    }
    return false;
}

const char *
rb_heapprof_graph_inexact(const struct heapprof_graph *earlier, const struct heapprof_graph *later)
{
    const char *set = rb_heapprof_graph_fact(&earlier->names, "set"), *other_set = rb_heapprof_graph_fact(&later->names, "set");
    const char *number = rb_heapprof_graph_fact(&earlier->names, "dump"), *next = rb_heapprof_graph_fact(&later->names, "dump");

    if (!set || !other_set || strcmp(set, other_set)) return "they are not of one process";
    if (!number || !next || strtoull(number, NULL, 10) + 1 != strtoull(next, NULL, 10)) {
        return "the dumps do not follow one another";
    }
    return survivors_p(later) ? NULL : "the later dump does not say which objects were there before";
}

static int
by_destination(const void *a, const void *b)
{
    const struct heapprof_graph_move *one = a, *other = b;

    return (one->to > other->to) - (one->to < other->to);
}

void
rb_heapprof_graph_sort_moves(struct heapprof_graph *later)
{
    if (later->move_count) qsort(later->moves, later->move_count, sizeof(*later->moves), by_destination);
}

uint32_t
rb_heapprof_graph_before(const struct heapprof_graph *earlier, const struct heapprof_graph *later, uint32_t object)
{
    struct heapprof_graph_move key = {0, rb_heapprof_graph_address(later, object)};
    const struct heapprof_graph_move *move = NULL;

    if (!(later->bits[object] & HEAPPROF_DUMP_SURVIVOR)) return 0;
    if (later->move_count) move = bsearch(&key, later->moves, later->move_count, sizeof(key), by_destination);
    return rb_heapprof_graph_find(earlier, move ? move->from : key.to);
}

bool
rb_heapprof_graph_ids_make(struct heapprof_graph_ids *ids, struct heapprof_graph *graph,
                           const struct heapprof_graph *earlier, const struct heapprof_graph_ids *earlier_ids)
{
    *ids = (struct heapprof_graph_ids){.space = &graph->space, .next = earlier_ids ? earlier_ids->next : 1};
    if (!HEAPPROF_SPACE_GROW(ids->space, ids->ids, ids->ids_capacity, (size_t)graph->count + 1)) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        uint32_t before = earlier ? rb_heapprof_graph_before(earlier, graph, object) : 0;
        ids->ids[object] = before ? earlier_ids->ids[before] : ids->next++;
    }
    return true;
}

void
rb_heapprof_graph_ids_free(struct heapprof_graph_ids *ids)
{
    HEAPPROF_SPACE_RELEASE(ids->space, ids->ids, ids->ids_capacity);
}
