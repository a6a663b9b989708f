#ifndef GRAPH_PATTERNS_H
#define GRAPH_PATTERNS_H
/* Merges the paths of a tree into patterns, as a road map merges single trips into roads.
 * Objects of one class are of one pattern if the same label leads to them from objects of one
 * pattern. All indices are one label, and so are all keys and all values. Named classes and
 * modules are never merged; threads and fibers are, if they were started at the same place.
 * Patterns form a tree with far fewer nodes.
 *
 * Three things are folded:
 *
 *     a period     Entry -> Array -> Entry -> Array ...   a step like one of the last few above
 *                                                         it is of that pattern; a step from a
 *                                                         collection, if the one before it is, too
 *     siblings     method show_1, method show_2 ...       graph_patterns_gather
 *     shared       Array -> shared -> elements            the memory that Arrays and Strings share
 *                                                         is its owner's, if it has only one
 */
#include <stdio.h>

#include "base/index.h"
#include "base/strings.h"
#include "graph/tree.h"

#define GRAPH_PERIOD_MOST 8 /* steps of a period */

struct graph_pattern {
    uint32_t parent;             /* pattern; 0 if a root refers to it */
    uint32_t label;
    uint32_t class_number;       /* index in names.classes; then come classes and modules, by the
                                    string of their name; then threads and fibers, by place */
    uint32_t example;            /* its first object, the nearest to the roots */
    uint32_t loop;               /* the last pattern of the period that begins here; 0 if none
                                    does */
    uint32_t siblings;           /* how many labels were gathered in it; 0 or 1 if it has one */
    uint32_t prefix;             /* how many characters the names of these have in common */
    uint64_t objects, bytes;     /* of its objects */
};

struct graph_patterns {
    struct graph_space *space;
    struct graph_pattern *all; /* [0] belongs to the root; a parent comes before its children */
    uint32_t  count;
    uint32_t *of;                /* by object; 0 if it is not reached */
    size_t    all_capacity, of_capacity;
    struct heapprof_index index;
    struct heapprof_strings
        places; /* where threads and fibers were started: "Thread worker.rb:12" */
    struct heapprof_mem index_mem; /* of these two */
};

/* Returns false if there is no memory. The caller frees the patterns either way, before the
 * graph. */
bool graph_patterns_make(struct graph_patterns *patterns, struct graph *graph,
                         const struct graph_tree *tree);
void graph_patterns_free(struct graph_patterns *patterns);

/* Gathers siblings: patterns below one pattern, of one class and one kind of label, that differ
 * only in their names and retain less than least bytes each. Numbers change. Returns false if
 * there is no memory. */
bool graph_patterns_gather(struct graph_patterns *patterns, struct graph *graph, uint64_t least);

/* Writes what the objects of the pattern are: the name of their class; for a class or module its
 * own name. graph_put_pattern also says "list of Entry -> Array" of a period. */
void
graph_put_pattern_class(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                        const struct graph_pattern *pattern);
void graph_put_pattern(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                       uint32_t number);

/* Writes the classes of the period that begins at a pattern: "Entry -> Array". */
void graph_put_period(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                      uint32_t first);

/* Writes its label: "@items"; of siblings "methods show_* (2,000)". */
void
graph_put_pattern_label(FILE *out, const struct graph *graph, const struct graph_pattern *pattern);

/* Writes the label and what the objects are: "constant CACHE: Hash". */
void graph_put_step(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                    uint32_t number);

/* The place of the threads or fibers of a pattern; NULL if it is of other objects. */
const char *graph_pattern_place(const struct graph *graph, const struct graph_patterns *patterns,
                                const struct graph_pattern *pattern);

/* The tree of patterns from the top down. */
struct graph_branches {
    uint64_t *retained;          /* by pattern */
    uint32_t *children;          /* of all patterns; of pattern n from first[n] to before
                                    first[n + 1], the one that retains most first */
    uint32_t *first;
};

/* Returns false if there is no memory. The caller frees the branches either way. */
bool graph_branches_make(struct graph_branches *branches, const struct graph_patterns *patterns);
void graph_branches_free(struct graph_branches *branches);

/* Computes the bytes that each pattern retains: its own and those of all patterns below. The
 * caller gives one element for each pattern, all zero. */
void graph_patterns_retained(const struct graph_patterns *patterns, uint64_t *retained);

#endif
