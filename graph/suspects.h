#ifndef GRAPH_SUSPECTS_H
#define GRAPH_SUSPECTS_H
/* Finds what may be a leak: one object that keeps much alive, or many objects of one pattern that
 * do so together.
 *
 *     root --> class Cart --> CACHE, a Cart --> @items, a Hash --> 200,000 Orders
 *                             object            gathered           part, parts
 */
#include "graph/patterns.h"

struct graph_suspect {
    uint32_t pattern, object;    /* the keeper; of many, the first */
    uint32_t count;              /* how many keepers side by side; usually 1 */
    uint64_t retained;           /* by all of these together */
    uint32_t gathered;           /* the pattern below it whose memory spreads over many objects */
    uint32_t gathered_object;    /* the object of that pattern that keeps nearly all of it; of many
                                    keepers, its first */
    uint32_t part;               /* the pattern that has most of what gathered keeps; 0 if it keeps
                                    nothing */
    uint64_t part_retained;
    uint32_t stack;              /* where a part was allocated, or else what keeps it, or else
                                    anything below that; 0 if none was sampled */
};

/* Finds up to `most` suspects that retain least_bytes or more each, the largest first. The caller
 * has gathered siblings that retain less, and gives what each object retains. Returns how many,
 * or SIZE_MAX if there is no memory. */
size_t graph_suspects(struct graph_suspect *suspects, size_t most, struct graph *graph,
                      const struct graph_patterns *patterns, const uint64_t *retained,
                      uint64_t least_bytes);

#endif
