#ifndef GRAPH_SUSPECTS_H
#define GRAPH_SUSPECTS_H
/* What may be a leak: an object that keeps much, or many of one class beside each other that do so together.
 *
 *     root --> class Cart --> CACHE, a Cart --> @items, a Hash --> 200,000 Orders
 *                             object            gathered           part_class, parts
 */
#include "graph/tree.h"

struct graph_suspect {
    uint32_t object;             /* which keeps it; of many, the first */
    uint32_t count;              /* how many of its class are beside it, with it; as a rule 1 */
    uint64_t retained;           /* by all of these */
    uint32_t gathered;           /* below object: where it does not lie in one object any more */
    uint32_t part;               /* an object of the class that most of what gathered keeps is of; 0: it keeps nothing */
    uint32_t parts;              /* how many of these; of a list its length */
    bool     list;               /* gathered and parts refer one to the next */
    uint32_t stack;              /* where that was allocated; 0: it was not sampled */
};

/* The largest, which retain least_bytes or more each; at most most. Returns how many, or SIZE_MAX: no memory. */
size_t graph_suspects(struct graph_suspect *suspects, size_t most, struct graph *graph,
                      const struct graph_dominators *dominators, uint64_t least_bytes);

#endif
