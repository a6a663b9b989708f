#ifndef GRAPH_PATTERNS_H
#define GRAPH_PATTERNS_H
/* Merges the paths of a tree into patterns, as a road map merges single trips into roads.
 * Objects of one class are of one pattern if the same label leads to them from objects of one
 * pattern. All indices are one label, and so are all keys and all values. A step like the one
 * before stays in its pattern, so a list is one pattern. Named classes and modules are never
 * merged. Patterns form a tree with far fewer nodes. */
#include <stdio.h>

#include "base/index.h"
#include "graph/tree.h"

struct graph_pattern {
    uint32_t parent;             /* pattern; 0 if a root refers to it */
    uint32_t label;
    uint32_t class_number;       /* index in names.classes; higher values are named classes and
                                    modules, by the string of their name */
    uint32_t example;            /* its first object, the nearest to the roots */
    uint64_t objects, bytes;     /* of its objects */
};

struct graph_patterns {
    struct graph_space *space;
    struct graph_pattern *all; /* [0] belongs to the root; a parent comes before its children */
    uint32_t  count;
    uint32_t *of;                /* by object; 0 if it is not reached */
    size_t    all_capacity, of_capacity;
    struct heapprof_index index;
    struct heapprof_mem index_mem;
};

/* Returns false if there is no memory. The caller frees the patterns either way, before the
 * graph. */
bool graph_patterns_make(struct graph_patterns *patterns, struct graph *graph,
                         const struct graph_tree *tree);
void graph_patterns_free(struct graph_patterns *patterns);

/* Writes what the objects of the pattern are: the name of their class; or, for a class or
 * module, its own name. */
void graph_put_pattern(FILE *out, const struct graph *graph,
                       const struct graph_pattern *pattern);

/* Writes the label and what the objects are: "constant CACHE: Hash". */
void graph_put_step(FILE *out, const struct graph *graph,
                    const struct graph_pattern *pattern);

/* Computes the bytes that each pattern retains: its own and those of all patterns below. The
 * caller gives one element for each pattern, all zero. */
void graph_patterns_retained(const struct graph_patterns *patterns, uint64_t *retained);

#endif
