#ifndef HEAPPROF_GRAPH_IDENTITY_H
#define HEAPPROF_GRAPH_IDENTITY_H
/* Which object of a dump is which of the dump before: SURVIVOR says that it was there, MOVES where, if not at the same
 * address. Nothing at that address: it is new, in a slot that was free. */
#include "graph/graph.h"

/* Why objects of two dumps cannot be told from one another; NULL: they can. */
const char *rb_heapprof_graph_inexact(const struct heapprof_graph *earlier, const struct heapprof_graph *later);

/* To be called for the later one before the functions below. */
void rb_heapprof_graph_sort_moves(struct heapprof_graph *later);

/* The object of the dump before that this one was; 0: it was not there. */
uint32_t rb_heapprof_graph_before(const struct heapprof_graph *earlier, const struct heapprof_graph *later,
                                  uint32_t object);

/* A number for each object of a dump, the same in all dumps that follow one another; no other object ever has it. */
struct heapprof_graph_ids {
    struct heapprof_space *space;
    uint64_t *ids;               /* by object; from 1 on */
    uint64_t  next;              /* which nobody has */
    size_t    ids_capacity;
};

/* earlier, earlier_ids: of the dump before; NULL: it is the first. Free them either way, before the graph. False: no memory. */
bool rb_heapprof_graph_ids_make(struct heapprof_graph_ids *ids, struct heapprof_graph *graph,
                                const struct heapprof_graph *earlier, const struct heapprof_graph_ids *earlier_ids);
void rb_heapprof_graph_ids_free(struct heapprof_graph_ids *ids);

#endif
