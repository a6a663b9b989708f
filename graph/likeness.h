#ifndef GRAPH_LIKENESS_H
#define GRAPH_LIKENESS_H
/* Pairs the objects of two dumps that do not say which object is which: those at places of the
 * same name, in their order. One would pair the chairs of two photos of a room like that. Where
 * a place has more objects in the later dump, the last ones count as new. */
#include "graph/patterns.h"

/* before receives for each object of the later dump its partner in the earlier one; 0 if it has
 * none. The caller gives it one element for each object, and number 0, all zero. The trees are
 * the dominator trees. Returns false if there is no memory. */
bool
graph_pair_alike(uint32_t *before, struct graph *earlier, const struct graph_tree *earlier_tree,
                 struct graph *later, const struct graph_tree *later_tree);

#endif
