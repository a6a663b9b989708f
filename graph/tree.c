/* tree.c - searches breadth first over the references, or over the children in the dominator
 * tree.
 *
 * order is the queue of the search: objects that were reached, each to be looked at in its
 * turn. */
#include "graph/tree.h"

#include <string.h>

#define GROW(tree, array, count) \
    GRAPH_SPACE_GROW((tree)->space, (tree)->array, (tree)->array##_capacity, (size_t)(count))

static bool
begin(struct graph_tree *tree, struct graph *graph)
{
    size_t count = (size_t)graph->count + 1;

    *tree = (struct graph_tree){.space = &graph->space};
    if (!GROW(tree, from, count) || !GROW(tree, labels, count) ||
        !GROW(tree, order, count)) return false;
    memset(tree->from, 0xff, count * sizeof(*tree->from));
    return true;
}

void
graph_tree_free(struct graph_tree *tree)
{
    GRAPH_SPACE_RELEASE(tree->space, tree->from, tree->from_capacity);
    GRAPH_SPACE_RELEASE(tree->space, tree->labels, tree->labels_capacity);
    GRAPH_SPACE_RELEASE(tree->space, tree->order, tree->order_capacity);
}

/* ---- roots ---- */

#define RANKS 3

/* 0 is for a root that people have named. */
static int
rank_of(const struct graph_root *root)
{
    switch (root->label) {
      case HEAPPROF_DUMP_ROOT: return 1;
      case HEAPPROF_DUMP_STACK:
      case HEAPPROF_DUMP_UNLABELLED: return 2;
      default: return 0;
    }
}

/* ---- the shortest ways ---- */

static void
reach(struct graph_tree *tree, const uint8_t *closed, uint32_t from, uint32_t to, uint32_t label)
{
    if (tree->from[to] != GRAPH_UNREACHED || (closed && closed[to])) return;
    tree->from[to] = from;
    tree->labels[to] = label;
    tree->order[tree->count++] = to;
}

static void
reach_roots(struct graph_tree *tree, const struct graph *graph, const uint8_t *closed)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < graph->root_count; i++) {
            const struct graph_root *root = &graph->roots[i];
            if (rank_of(root) == rank) reach(tree, closed, 0, root->target, graph_root_label(root));
        }
    }
}

bool
graph_shortest(struct graph_tree *tree, struct graph *graph, const uint8_t *closed)
{
    if (!begin(tree, graph)) return false;
    reach_roots(tree, graph, closed);
    for (uint32_t at = 0; at < tree->count; at++) {
        uint32_t from = tree->order[at], class_object = graph_class(graph, from);
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            reach(tree, closed, from, graph->targets[i], graph->labels[i]);
        }
        if (class_object) reach(tree, closed, from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
    }
    return true;
}

/* ---- from dominator to dominator ---- */

/* Notes that a reference with this label leads from an object, or from a root, to another
 * object. */
static void
label(struct graph_tree *tree, uint32_t from, uint32_t to, uint32_t of_reference)
{
    uint32_t *known = &tree->labels[to];

    if (graph_label_kind(*known) != GRAPH_INDIRECT) return;
    if (tree->from[to] == from) *known = of_reference;
    else if (graph_label_kind(of_reference) == HEAPPROF_DUMP_CONSTANT) {
        *known = graph_label(GRAPH_INDIRECT, graph_label_detail(of_reference));
    }
}

static void
label_roots(struct graph_tree *tree, const struct graph *graph)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < graph->root_count; i++) {
            const struct graph_root *root = &graph->roots[i];
            if (rank_of(root) == rank) label(tree, 0, root->target, graph_root_label(root));
        }
    }
}

static void
label_references(struct graph_tree *tree, const struct graph *graph)
{
    for (uint32_t from = 1; from <= graph->count; from++) {
        uint32_t class_object = graph_class(graph, from);
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            label(tree, from, graph->targets[i], graph->labels[i]);
        }
        if (class_object) label(tree, from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
    }
}

/* Puts the children in order, each after its dominator. */
static void
put_in_order(struct graph_tree *tree, const struct graph_dominated *dominated)
{
    uint32_t from = 0;

    for (uint32_t at = 0; ; from = tree->order[at++]) {
        for (uint32_t i = dominated->first[from]; i < dominated->first[from + 1]; i++) {
            tree->order[tree->count++] = dominated->children[i];
        }
        if (at == tree->count) break;
    }
}

bool
graph_dominator_tree(struct graph_tree *tree, struct graph *graph,
                     const struct graph_dominators *dominators)
{
    struct graph_dominated dominated;
    bool room;

    if (!begin(tree, graph)) return false;
    memcpy(tree->from, dominators->dominators, ((size_t)graph->count + 1) * sizeof(*tree->from));
    tree->from[0] = GRAPH_UNREACHED;
    for (uint32_t i = 0; i <= graph->count; i++) tree->labels[i] = graph_label(GRAPH_INDIRECT, 0);
    label_roots(tree, graph);
    label_references(tree, graph);
    room = graph_dominated_make(&dominated, graph, dominators);
    if (room) put_in_order(tree, &dominated);
    graph_dominated_free(&dominated);
    return room;
}
