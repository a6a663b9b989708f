#ifndef HEAPPROF_GRAPH_DOMINATORS_H
#define HEAPPROF_GRAPH_DOMINATORS_H
/* Who keeps what: object A dominates B when every way from the roots to B leads through A. The last such A on these
 * ways is B's dominator. What A retains are its own bytes and those of all it dominates: without A, they were free. */
#include "graph/graph.h"

#define HEAPPROF_UNREACHED UINT32_MAX

struct heapprof_dominators {
    struct heapprof_space *space;
    uint32_t *dominators;        /* by object: 0 the root; HEAPPROF_UNREACHED: no root leads to it */
    uint64_t *retained;          /* bytes, by object; [0]: of all that is reached */
    uint32_t  reached;           /* objects */
    size_t    dominators_capacity, retained_capacity;
};

/* False: no memory. Free it either way, before the graph. */
bool rb_heapprof_dominators_find(struct heapprof_dominators *dominators, struct heapprof_graph *graph);
void rb_heapprof_dominators_free(struct heapprof_dominators *dominators);

/* The dominator tree from above: the children of an object. */
struct heapprof_dominated {
    struct heapprof_space *space;
    uint32_t *first;             /* as in the graph */
    uint32_t *children;
    size_t    first_capacity, children_capacity;
};

bool rb_heapprof_dominated_make(struct heapprof_dominated *dominated, struct heapprof_graph *graph,
                                const struct heapprof_dominators *dominators);
void rb_heapprof_dominated_free(struct heapprof_dominated *dominated);

#endif
