#ifndef GRAPH_DIFFERENCE_H
#define GRAPH_DIFFERENCE_H
/* Compares two or three dumps of one process, taken one after the other: which objects have
 * become more, and where in the dominator tree.
 *
 * Two patterns are the same if the labels and class names are the same all the way from the
 * root. If the dumps are of one process and follow one another, they also say exactly which
 * object is which (identity.h). */
#include "base/strings.h"
#include "graph/patterns.h"

#define GRAPH_DUMPS_MOST 3

struct graph_dump {
    struct graph *graph;
    struct graph_patterns patterns; /* merged from its dominator tree */
};

struct graph_change {
    uint32_t parent;             /* change; 0 if a root refers to it */
    uint32_t name;               /* in strings */
    uint32_t example;            /* an object of the last dump, a fresh one if possible; 0 if
                                    that dump has none */
    uint64_t objects[GRAPH_DUMPS_MOST], retained[GRAPH_DUMPS_MOST]; /* by dump */
    uint64_t fresh;              /* objects of the last dump that the dump before does not have */
    uint64_t kept;               /* of three dumps: objects of the last that the second has and
                                    the first has not */
};

struct graph_difference {
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct graph_change *all; /* [0] belongs to the root; a parent comes before its children */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
    size_t   dump_count;
    const char *inexact;         /* why objects cannot be told apart (then fresh and kept are 0);
                                    NULL if they can */
};

/* The caller has made the patterns of each dump. Returns false if there is no memory; the
 * caller frees the difference either way. */
bool graph_difference_make(struct graph_difference *difference,
                           const struct graph_dump *dumps, size_t count);
void graph_difference_free(struct graph_difference *difference);

/* True if the last dump has more objects of this change than the first, and the same is true of
 * none of its parents: growth begins here. */
bool graph_grown_p(const struct graph_difference *difference, uint32_t change);

#endif
