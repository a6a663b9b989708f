#ifndef GRAPH_IDENTITY_H
#define GRAPH_IDENTITY_H
/* Which object of a dump is which of the dump before: SURVIVOR says that it was there, MOVES where, if not at the same
 * address. Nothing at that address: it is new, in a slot that was free. */
#include "graph/graph.h"

/* Why objects of two dumps cannot be told from one another; NULL: they can. */
const char *graph_inexact(const struct graph *earlier, const struct graph *later);

/* To be called for the later one before the functions below. */
void graph_sort_moves(struct graph *later);

/* The object of the dump before that this one was; 0: it was not there. */
uint32_t graph_before(const struct graph *earlier, const struct graph *later,
                      uint32_t object);

/* A number for each object of a dump, the same in all dumps that follow one another; no other object ever has it. */
struct graph_ids {
    struct graph_space *space;
    uint64_t *ids;               /* by object; from 1 on */
    uint64_t  next;              /* which nobody has */
    size_t    ids_capacity;
};

/* earlier, earlier_ids: of the dump before; NULL: it is the first. Free them either way, before the graph. False: no memory. */
bool graph_ids_make(struct graph_ids *ids, struct graph *graph,
                    const struct graph *earlier, const struct graph_ids *earlier_ids);
void graph_ids_free(struct graph_ids *ids);

#endif
