/* tree.c - searches breadth first over the references, or over the children in the dominator
 * tree.
 *
 * order is the queue of the search: objects that were reached, each to be looked at in its
 * turn. */
#include "graph/tree.h"

#include <stdlib.h>
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

/* ---- the strongest paths ---- */

/* A reference that is weaker than all that was followed so far. It waits for its turn. */
struct waiting_reference {
    uint32_t from, to, label;
    uint32_t distance;           /* of the object it leads to */
    uint8_t  strength;
};

struct path_search {
    struct graph_tree *tree;
    const struct graph *graph;
    const struct graph_closed *closed;
    uint32_t *distances;         /* by object: how many references lead to it, from a root or from
                                    a class, which has 0 */
    struct waiting_reference *waiting;
    size_t    waiting_count;
    uint32_t  looked_at;         /* how many objects of the tree's order have been looked at */
    enum graph_strength strength; /* of the paths that are being found */
    size_t    distances_capacity, waiting_capacity;
};

#define ROOT_DISTANCE 1

static int
compare_references(const void *a, const void *b)
{
    const struct graph_closed_reference *one = a, *other = b;

    if (one->to != other->to) return one->to < other->to ? -1 : 1;
    if (one->from != other->from) return one->from < other->from ? -1 : 1;
    return (one->label > other->label) - (one->label < other->label);
}

void
graph_closed_sort(struct graph_closed *closed)
{
    if (closed->reference_count == 0) return;
    qsort(closed->references, closed->reference_count, sizeof(*closed->references),
          compare_references);
}

static bool
closed_p(const struct path_search *search, struct graph_closed_reference reference)
{
    const struct graph_closed *closed = search->closed;

    if (closed->objects[reference.to] ||
        graph_weaker_p(search->graph, closed->levels, reference.from, reference.to,
                       reference.label)) return true;
    return closed->reference_count > 0 &&
           bsearch(&reference, closed->references, closed->reference_count, sizeof(reference),
                   compare_references);
}

static inline void
reach(struct path_search *search, uint32_t from, uint32_t to, uint32_t label, uint32_t distance)
{
    struct graph_tree *tree = search->tree;

    tree->from[to] = from;
    tree->labels[to] = label;
    tree->order[tree->count++] = to;
    search->distances[to] = distance;
}

/* Follows a reference to an object that is not reached yet: now, or later. The distance is that of
 * the object. Returns false if there is no memory. */
static inline bool
follow(struct path_search *search, struct graph_closed_reference reference, uint32_t distance,
       enum graph_strength strength)
{
    if (search->closed && closed_p(search, reference)) return true;
    if (strength <= search->strength) {
        reach(search, reference.from, reference.to, reference.label, distance);
        return true;
    }
    if (!GRAPH_SPACE_GROW(search->tree->space, search->waiting, search->waiting_capacity,
                          search->waiting_count + 1)) return false;
    search->waiting[search->waiting_count++] =
        (struct waiting_reference){reference.from, reference.to, reference.label, distance,
                                   (uint8_t)strength};
    return true;
}

static bool
follow_all(struct path_search *search, uint32_t from)
{
    const struct graph *graph = search->graph;
    const uint32_t *reached = search->tree->from;
    uint32_t class_object = graph_class(graph, from), end = graph->first[from + 1];
    uint32_t distance = search->distances[from] + 1;
    struct graph_closed_reference to_class = {from, class_object,
                                              graph_label(HEAPPROF_DUMP_CLASS, 0)};
    bool firm = !graph_layout(graph, from)->thread && !(graph->bits[from] & GRAPH_HAS_VM_LABELS);

    for (uint32_t i = graph->first[from]; i < end; i++) {
        struct graph_closed_reference reference = {from, graph->targets[i], graph->labels[i]};
        if (reached[reference.to] != GRAPH_UNREACHED) continue;
        if (!follow(search, reference, distance,
                    firm ? GRAPH_FIRM : graph_strength(graph, from, reference.label))) return false;
    }
    if (!class_object || reached[class_object] != GRAPH_UNREACHED) return true;
    return follow(search, to_class, distance, GRAPH_FIRM);
}

static int
nearer(const void *a, const void *b)
{
    const struct waiting_reference *one = a, *other = b;

    if (one->strength != other->strength) return one->strength < other->strength ? -1 : 1;
    if (one->distance != other->distance) return one->distance < other->distance ? -1 : 1;
    return (one->to > other->to) - (one->to < other->to);
}

/* Finds all objects that paths of this strength reach, the nearest first. Those that stronger
 * paths have reached take part with the references of theirs that have waited. */
static bool
find_paths(struct path_search *search)
{
    struct graph_tree *tree = search->tree;
    struct waiting_reference *waiting = search->waiting;
    size_t next = 0, end = 0;
    bool room = true;

    if (search->waiting_count) qsort(waiting, search->waiting_count, sizeof(*waiting), nearer);
    while (end < search->waiting_count && waiting[end].strength <= search->strength) end++;
    while (room && (next < end || search->looked_at < tree->count)) {
        const struct waiting_reference *reference = search->waiting + next;
        bool waited = next < end && (search->looked_at == tree->count ||
                                     reference->distance <=
                                         search->distances[tree->order[search->looked_at]] + 1);
        if (!waited) room = follow_all(search, tree->order[search->looked_at++]);
        else if (next++, tree->from[reference->to] == GRAPH_UNREACHED) {
            reach(search, reference->from, reference->to, reference->label, reference->distance);
        }
    }
    search->waiting_count -= end;
    if (end)
        memmove(search->waiting, search->waiting + end,
                search->waiting_count * sizeof(*search->waiting));
    return room;
}

static void
reach_module(struct path_search *search, struct graph_closed_reference reference)
{
    if (search->tree->from[reference.to] != GRAPH_UNREACHED ||
        !graph_layout(search->graph, reference.to)->module ||
        (search->closed && closed_p(search, reference))) return;
    reach(search, reference.from, reference.to, reference.label, 0);
}

/* Reaches classes and modules from roots and from each other. A path is shown from the constant or
 * the variable of a class, as if that were a root. So what leads to a class has no length. */
static void
reach_modules(struct path_search *search)
{
    const struct graph *graph = search->graph;

    for (uint32_t i = 0; i < graph->root_count; i++) {
        const struct graph_root *root = &graph->roots[i];
        if (graph_root_strength(graph, root) != GRAPH_FIRM) continue;
        reach_module(search,
                     (struct graph_closed_reference){ 0, root->target, graph_root_label(root) });
    }
    for (uint32_t at = 0; at < search->tree->count; at++) {
        uint32_t from = search->tree->order[at], class_object = graph_class(graph, from);
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            if (graph_strength(graph, from, graph->labels[i]) != GRAPH_FIRM) continue;
            reach_module(search, (struct graph_closed_reference){ from, graph->targets[i],
                                                                   graph->labels[i] });
        }
        if (!class_object) continue;
        reach_module(search, (struct graph_closed_reference){
                                 from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0) });
    }
}

static bool
find_all_paths(struct path_search *search)
{
    const struct graph *graph = search->graph;

    reach_modules(search);
    for (uint32_t i = 0; i < graph->root_count; i++) {
        const struct graph_root *root = &graph->roots[i];
        struct graph_closed_reference reference = {0, root->target, graph_root_label(root)};
        if (search->tree->from[root->target] != GRAPH_UNREACHED) continue;
        if (!follow(search, reference, ROOT_DISTANCE,
                    graph_root_strength(graph, root))) return false;
    }
    for (; search->strength < GRAPH_STRENGTHS; search->strength++)
        if (!find_paths(search)) return false;
    return true;
}

bool
graph_shortest(struct graph_tree *tree, struct graph *graph, const struct graph_closed *closed)
{
    struct path_search search = {.tree = tree, .graph = graph, .closed = closed};
    bool room = begin(tree, graph) &&
                GRAPH_SPACE_GROW(tree->space, search.distances, search.distances_capacity,
                                 (size_t)graph->count + 1) &&
                find_all_paths(&search);

    GRAPH_SPACE_RELEASE(tree->space, search.distances, search.distances_capacity);
    GRAPH_SPACE_RELEASE(tree->space, search.waiting, search.waiting_capacity);
    return room;
}

/* ---- from dominator to dominator ---- */

/* Notes that a reference with this label leads from an object, or from a root, to another
 * object. The strongest one is kept. */
static void
label(struct graph_tree *tree, const struct graph *graph, uint32_t from, uint32_t to,
      uint32_t of_reference)
{
    uint32_t *known = &tree->labels[to];
    bool indirect = graph_label_kind(*known) == GRAPH_INDIRECT;

    if (tree->from[to] == from) {
        if (indirect || (from && graph_strength(graph, from, of_reference) <
                                 graph_strength(graph, from, *known))) *known = of_reference;
    }
    else if (indirect && graph_label_kind(of_reference) == HEAPPROF_DUMP_CONSTANT) {
        *known = graph_label(GRAPH_INDIRECT, graph_label_detail(of_reference));
    }
}

/* The roots in the order of their strength. */
static void
label_roots(struct graph_tree *tree, const struct graph *graph, const struct graph_levels *levels)
{
    for (enum graph_strength strength = GRAPH_FIRM; strength < GRAPH_STRENGTHS; strength++) {
        for (uint32_t i = 0; i < graph->root_count; i++) {
            const struct graph_root *root = &graph->roots[i];
            uint32_t of_root = graph_root_label(root);
            if (graph_root_strength(graph, root) != strength ||
                graph_weaker_p(graph, levels, 0, root->target, of_root)) continue;
            label(tree, graph, 0, root->target, of_root);
        }
    }
}

/* Most references neither come from the dominator nor are constants of an object that has only
 * indirect ones. These change nothing. */
static void
label_references(struct graph_tree *tree, const struct graph *graph,
                 const struct graph_levels *levels)
{
    const uint32_t *dominators = tree->from;

    for (uint32_t from = 1; from <= graph->count; from++) {
        uint32_t class_object = graph_class(graph, from), end = graph->first[from + 1];
        bool maybe_weaker;
        if (dominators[from] == GRAPH_UNREACHED) continue;
        maybe_weaker = graph_maybe_weaker_p(graph, levels, from);
        for (uint32_t i = graph->first[from]; i < end; i++) {
            uint32_t to = graph->targets[i], of_reference = graph->labels[i];
            bool constant = graph_label_kind(of_reference) == HEAPPROF_DUMP_CONSTANT;
            if (dominators[to] != from && !constant) continue;
            if (maybe_weaker && graph_weaker_p(graph, levels, from, to, of_reference)) continue;
            label(tree, graph, from, to, of_reference);
        }
        if (class_object && dominators[class_object] == from) {
            label(tree, graph, from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
        }
    }
}

/* Puts the children in order, each after its dominator. */
static void
put_in_order(struct graph_tree *tree, const struct graph_dominated *dominated)
{
    const uint32_t *first = dominated->first, *children = dominated->children;
    uint32_t *order = tree->order, count = 0, from = 0;

    for (uint32_t at = 0; ; from = order[at++]) {
        for (uint32_t i = first[from]; i < first[from + 1]; i++) order[count++] = children[i];
        if (at == count) break;
    }
    tree->count = count;
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
    label_roots(tree, graph, &dominators->levels);
    label_references(tree, graph, &dominators->levels);
    room = graph_dominated_make(&dominated, graph, dominators);
    if (room) put_in_order(tree, &dominated);
    graph_dominated_free(&dominated);
    return room;
}
