#ifndef GRAPH_IDENTITY_H
#define GRAPH_IDENTITY_H
/* Follows objects from one dump to the next, as one follows people through two photos of a
 * crowd. The bit SURVIVOR says that an object was in the dump before. MOVES says at which
 * address, if it was another one. An object without the bit is new. */
#include "graph/graph.h"

/* Says why the objects of two dumps cannot be told apart; returns NULL if they can. */
const char *graph_inexact(const struct graph *earlier, const struct graph *later);

/* The caller calls this for the later dump before it calls graph_before or graph_ids_make. */
void graph_sort_moves(struct graph *later);

/* The same object in the earlier dump; 0 if it did not exist then. */
uint32_t graph_before(const struct graph *earlier, const struct graph *later,
                      uint32_t object);

/* A number for each object of a dump. The same object has the same number in each later dump,
 * and no other object ever gets it. */
struct graph_ids {
    struct graph_space *space;
    uint64_t *ids;               /* by object; the first is 1 */
    uint64_t  next;              /* the next free number */
    size_t    ids_capacity;
};

/* earlier and earlier_ids belong to the dump before; both are NULL for the first dump. Returns
 * false if there is no memory. The caller frees the ids either way, before the graph. */
bool graph_ids_make(struct graph_ids *ids, struct graph *graph,
                    const struct graph *earlier, const struct graph_ids *earlier_ids);
void graph_ids_free(struct graph_ids *ids);

#endif
