#ifndef GRAPH_DIFFERENCE_H
#define GRAPH_DIFFERENCE_H
/* Two or three dumps of a process, one after the other: which objects the later ones have more of, by the dominator path.
 *
 * Patterns are the same when labels and classes have the same names, from the roots on. Which object of a dump is the same
 * as one of the dump before, the dumps know exactly, if they are of one process and follow one another. */
#include "base/strings.h"
#include "graph/patterns.h"

#define GRAPH_DUMPS_MOST 3

struct graph_dump {
    struct graph *graph;
    struct graph_patterns patterns; /* of its dominator tree */
};

struct graph_change {
    uint32_t parent;             /* change; of those that a root refers to 0 */
    uint32_t name;               /* in strings */
    uint32_t example;            /* an object of the last dump, a fresh one if there is any; 0: it has none */
    uint64_t objects[GRAPH_DUMPS_MOST], retained[GRAPH_DUMPS_MOST]; /* by dump */
    uint64_t fresh;              /* of the last dump: objects that the one before has not */
    uint64_t kept;               /* of the last of three: objects that the second has, and the first has not */
};

struct graph_difference {
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct graph_change *all; /* [0] is the root's; each stands behind its parent */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
    size_t   dump_count;
    const char *inexact;         /* why objects cannot be told from one another: fresh and kept are 0; NULL: they can */
};

/* The dumps' patterns are made. False: no memory. Free it either way. */
bool graph_difference_make(struct graph_difference *difference,
                           const struct graph_dump *dumps, size_t count);
void graph_difference_free(struct graph_difference *difference);

/* Whether there are more objects of it now than at first, and of none that keeps it: it is where growth begins. */
bool graph_grown_p(const struct graph_difference *difference, uint32_t change);

#endif
