#ifndef GRAPH_PATTERNS_H
#define GRAPH_PATTERNS_H
/* The ways of a tree, merged: objects of one class that are reached by one label from objects of one pattern are of one
 * pattern. Indices, keys and values are all one label; a step that is as the one before stays in its pattern, so a
 * list is one. Classes and modules with a name are never merged. Patterns are a tree, too, with far fewer nodes. */
#include <stdio.h>

#include "base/index.h"
#include "graph/tree.h"

struct graph_pattern {
    uint32_t parent;             /* pattern; of those that a root refers to 0 */
    uint32_t label;
    uint32_t class_number;       /* in names.classes; behind these, named classes and modules by their name's string */
    uint32_t example;            /* its first object, which is nearest to the roots */
    uint64_t objects, bytes;     /* of it */
};

struct graph_patterns {
    struct graph_space *space;
    struct graph_pattern *all; /* [0] is the root's; each stands behind its parent */
    uint32_t  count;
    uint32_t *of;                /* by object; 0: it is not reached */
    size_t    all_capacity, of_capacity;
    struct heapprof_index index;
    struct heapprof_mem index_mem;
};

/* False: no memory. Free them either way, before the graph. */
bool graph_patterns_make(struct graph_patterns *patterns, struct graph *graph,
                         const struct graph_tree *tree);
void graph_patterns_free(struct graph_patterns *patterns);

/* What its objects are: the class's name; of a class or module its own. */
void graph_put_pattern(FILE *out, const struct graph *graph,
                       const struct graph_pattern *pattern);

/* How it is reached, and what its objects are: "constant CACHE: Hash". */
void graph_put_step(FILE *out, const struct graph *graph,
                    const struct graph_pattern *pattern);

/* The bytes that each pattern retains: its own and those of all below. retained has an element for each, zero. */
void graph_patterns_retained(const struct graph_patterns *patterns, uint64_t *retained);

#endif
