#ifndef GRAPH_SUSPECTS_H
#define GRAPH_SUSPECTS_H
/* Finds what may be a leak: one object that keeps much alive, or many objects of one class side
 * by side that do so together.
 *
 *     root --> class Cart --> CACHE, a Cart --> @items, a Hash --> 200,000 Orders
 *                             object            gathered           part_class, parts
 */
#include "graph/tree.h"

struct graph_suspect {
    uint32_t object;             /* the keeper; of many, the first */
    uint32_t count;              /* how many keepers of one class side by side; usually 1 */
    uint64_t retained;           /* by all of these together */
    uint32_t gathered;           /* the object below `object` where the memory spreads over many
                                    objects */
    uint32_t part;               /* an object of the class that has most of what gathered keeps;
                                    0 if it keeps nothing */
    uint32_t parts;              /* how many objects of that class; for a list its length */
    bool     list;               /* gathered and parts form a list: each refers to the next */
    uint32_t stack;              /* where the part was allocated; 0 if it was not sampled */
};

/* Finds up to `most` suspects that retain least_bytes or more each, the largest first. Returns
 * how many, or SIZE_MAX if there is no memory. */
size_t graph_suspects(struct graph_suspect *suspects, size_t most, struct graph *graph,
                      const struct graph_dominators *dominators, uint64_t least_bytes);

#endif
