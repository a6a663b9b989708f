#ifndef GRAPH_GROUPS_H
#define GRAPH_GROUPS_H
/* Adds objects up by class, allocation stack, file or age. */
#include "graph/tree.h"

enum graph_grouping {
    GRAPH_BY_CLASS,     /* key: index in names.classes */
    GRAPH_BY_STACK,     /* key: stack, 0 if not sampled. A sample counts as the objects it stands
                           for */
    GRAPH_BY_FILE,      /* key: string of the innermost frame's file. Samples count as above */
    GRAPH_BY_AGE        /* key: GCs survived */
};

struct graph_group {
    uint32_t key;
    double   objects, bytes;
    double   retained;           /* without objects that another object of the group dominates:
                                    nothing counts twice */
};

struct graph_groups {
    struct graph_space *space;
    struct graph_group *all;
    uint32_t count;
    uint32_t *by_key;            /* group + 1 */
    uint32_t *inside;            /* by group: how many of its objects are on the current path
                                    down the dominator tree */
    size_t   all_capacity, by_key_capacity, inside_capacity;
};

/* Groups all objects that roots reach. Returns false if there is no memory. The caller frees
 * the groups either way, before the graph. */
bool graph_groups_make(struct graph_groups *groups, struct graph *graph,
                       const struct graph_dominators *dominators, enum graph_grouping by);
void graph_groups_free(struct graph_groups *groups);

/* Largest first. */
void graph_groups_sort(struct graph_groups *groups, bool by_retained);

#endif
