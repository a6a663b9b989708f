#ifndef GRAPH_DOMINATORS_H
#define GRAPH_DOMINATORS_H
/* Who keeps what alive. Object A dominates object B if every path from the roots to B goes
 * through A, like the only bridge to an island. The nearest such A is called the dominator of
 * B. What A retains is its own bytes and those of all objects that it dominates: if A were
 * freed, they would be freed too. */
#include "graph/strength.h"

#define GRAPH_UNREACHED UINT32_MAX

struct graph_dominators {
    struct graph_space *space;
    uint32_t *dominators;        /* by object: its dominator, 0 for the root; GRAPH_UNREACHED if
                                    no root leads to it */
    uint64_t *retained;          /* bytes, by object; [0] is the sum of all reached objects */
    uint32_t  reached;           /* objects */
    struct graph_levels levels;  /* which references were looked through */
    size_t    dominators_capacity, retained_capacity;
};

/* Finds the dominators. They look through references that are weaker than what they lead to
 * (strength.h); if exact, they do not: then each reference counts. Returns false if there is no
 * memory. The caller frees the dominators either way, before the graph. */
bool graph_dominators_find(struct graph_dominators *dominators, struct graph *graph, bool exact);
void graph_dominators_free(struct graph_dominators *dominators);

/* The dominator tree from the top down: the children of each object. */
struct graph_dominated {
    struct graph_space *space;
    uint32_t *first;             /* children of object n are children[first[n]] to
                                    children[first[n + 1] - 1] */
    uint32_t *children;
    size_t    first_capacity, children_capacity;
};

bool graph_dominated_make(struct graph_dominated *dominated, struct graph *graph,
                          const struct graph_dominators *dominators);
void graph_dominated_free(struct graph_dominated *dominated);

#endif
