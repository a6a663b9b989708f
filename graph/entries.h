#ifndef GRAPH_ENTRIES_H
#define GRAPH_ENTRIES_H
/* Which objects have several ways in. An entry to an object is a firm reference (strength.h) from
 * what the object does not keep alive itself. */
#include "graph/tree.h"

struct graph_entries {
    struct graph_space *space;
    uint32_t *all;               /* by object: the only one that refers to it from outside, or a
                                    mark: nobody does, several do (entries.c) */
    size_t    capacity;
};

/* Finds the entries to all objects. dominator_tree: from graph_dominator_tree. Returns false if
 * there is no memory. The caller frees entries either way, before the graph. */
bool graph_entries_find(struct graph_entries *entries, struct graph *graph,
                        const struct graph_dominators *dominators,
                        const struct graph_tree *dominator_tree);
void graph_entries_free(struct graph_entries *entries);

/* True if the object has several entries: to take away the one that is shown frees nothing. An
 * object without a class is a part of the one that keeps it, as the elements of a Queue are. What
 * is further up may have several, too, as the notifier of Rails has; who looks for a leak empties
 * what it holds. */
bool graph_entries_several_p(const struct graph_entries *entries, const struct graph *graph,
                             const struct graph_dominators *dominators, uint32_t object);

#endif
