#ifndef GRAPH_GROUPS_H
#define GRAPH_GROUPS_H
/* Objects added up: by class, allocation stack, file or age. */
#include "graph/tree.h"

enum graph_grouping {
    GRAPH_BY_CLASS,     /* key: in names.classes */
    GRAPH_BY_STACK,     /* stack; 0: of objects that are no samples. Samples count as what they stand for */
    GRAPH_BY_FILE,      /* string of the innermost frame's file; likewise */
    GRAPH_BY_AGE        /* GCs survived */
};

struct graph_group {
    uint32_t key;
    double   objects, bytes;
    double   retained;           /* of those that no object of the same group dominates: nothing counts twice */
};

struct graph_groups {
    struct graph_space *space;
    struct graph_group *all;
    uint32_t count;
    uint32_t *of;                /* by object */
    uint32_t *by_key;            /* group + 1 */
    uint32_t *inside;            /* by group: how many objects of it the way down leads through */
    size_t   all_capacity, of_capacity, by_key_capacity, inside_capacity;
};

/* Of all objects that roots reach. False: no memory. Free them either way, before the graph. */
bool graph_groups_make(struct graph_groups *groups, struct graph *graph,
                       const struct graph_dominators *dominators, enum graph_grouping by);
void graph_groups_free(struct graph_groups *groups);

/* Largest first; after that, of means nothing any more. */
void graph_groups_sort(struct graph_groups *groups, bool by_retained);

#endif
