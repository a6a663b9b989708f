#ifndef GRAPH_TREE_H
#define GRAPH_TREE_H
/* One path from the roots to each object: the strongest path over references, or the path from
 * dominator to dominator. */
#include "graph/dominators.h"

/* A kind of label, for a dominator without a direct reference to the object it dominates. The
 * detail is the name of a constant that holds the object; 0 if there is none. */
#define GRAPH_INDIRECT (GRAPH_VALUE_OF_STRING + 1)

struct graph_tree {
    struct graph_space *space;
    uint32_t *from;              /* by object: the object before it, 0 for the root;
                                    GRAPH_UNREACHED */
    uint32_t *labels;            /* by object: of the reference from there; from a root its label
                                    with its name or category */
    uint32_t *order;             /* the reached objects, each after the one it comes from */
    uint32_t  count;             /* length of order */
    size_t    from_capacity, labels_capacity, order_capacity;
};

struct graph_closed_reference {
    uint32_t from, to, label;    /* from 0: of a root */
};

/* What no path may use: objects, references, and all that dominators look through. */
struct graph_closed {
    const struct graph_levels *levels;
    uint8_t *objects;            /* nonzero: closed */
    struct graph_closed_reference *references; /* in the order of graph_closed_sort */
    size_t  reference_count, reference_capacity;
};

/* The caller calls this when it has added references. */
void graph_closed_sort(struct graph_closed *closed);

/* Finds the strongest path to each object (strength.h), and among equally strong ones the
 * shortest that begins with the path of the object before it. References that lead from class to
 * class do not count. If closed is NULL, everything is open. Returns false if there is no memory.
 * The caller frees the tree either way, before the graph. */
bool
graph_shortest(struct graph_tree *tree, struct graph *graph, const struct graph_closed *closed);

/* Makes the dominator tree. Result and ownership as above. */
bool graph_dominator_tree(struct graph_tree *tree, struct graph *graph,
                          const struct graph_dominators *dominators);

void graph_tree_free(struct graph_tree *tree);

#endif
