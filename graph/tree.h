#ifndef GRAPH_TREE_H
#define GRAPH_TREE_H
/* One way from the roots to each object: over the shortest references, or from dominator to dominator. */
#include "graph/dominators.h"

/* Kind of a label: a dominator leads there, but by no reference of its own. The detail is the name of a constant that it
 * is; 0: it is none. */
#define GRAPH_INDIRECT (GRAPH_VALUE_OF_INTEGER + 1)

struct graph_tree {
    struct graph_space *space;
    uint32_t *from;              /* by object: 0 the root; GRAPH_UNREACHED */
    uint32_t *labels;            /* by object: of the reference from there; of a root its label, and name or category */
    uint32_t *order;             /* what is reached, each behind the one it comes from */
    uint32_t  count;             /* of order */
    size_t    from_capacity, labels_capacity, order_capacity;
};

/* The shortest ways. Of roots, those come first that have a name people gave; words on a stack come last. closed: a
 * byte for each object, not 0 where no way may lead; NULL: it may lead everywhere.
 * False: no memory. Free a tree either way, before the graph. */
bool graph_shortest(struct graph_tree *tree, struct graph *graph,
                    const uint8_t *closed);

/* The dominator tree. */
bool graph_dominator_tree(struct graph_tree *tree, struct graph *graph,
                          const struct graph_dominators *dominators);

void graph_tree_free(struct graph_tree *tree);

#endif
