#ifndef GRAPH_DOMINATORS_H
#define GRAPH_DOMINATORS_H
/* Who keeps what: object A dominates B when every way from the roots to B leads through A. The last such A on these
 * ways is B's dominator. What A retains are its own bytes and those of all it dominates: without A, they were free. */
#include "graph/graph.h"

#define GRAPH_UNREACHED UINT32_MAX

struct graph_dominators {
    struct graph_space *space;
    uint32_t *dominators;        /* by object: 0 the root; GRAPH_UNREACHED: no root leads to it */
    uint64_t *retained;          /* bytes, by object; [0]: of all that is reached */
    uint32_t  reached;           /* objects */
    size_t    dominators_capacity, retained_capacity;
};

/* False: no memory. Free it either way, before the graph. */
bool graph_dominators_find(struct graph_dominators *dominators, struct graph *graph);
void graph_dominators_free(struct graph_dominators *dominators);

/* The dominator tree from above: the children of an object. */
struct graph_dominated {
    struct graph_space *space;
    uint32_t *first;             /* as in the graph */
    uint32_t *children;
    size_t    first_capacity, children_capacity;
};

bool graph_dominated_make(struct graph_dominated *dominated, struct graph *graph,
                          const struct graph_dominators *dominators);
void graph_dominated_free(struct graph_dominated *dominated);

#endif
