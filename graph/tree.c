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
    qsort(closed->references, closed->reference_count, sizeof(*closed->references), compare_references);
}

static bool
closed_p(const struct path_search *search, uint32_t from, uint32_t to, uint32_t label)
{
    const struct graph_closed *closed = search->closed;
    struct graph_closed_reference reference = {from, to, label};

    if (!closed) return false;
    if (closed->objects[to] || graph_weaker_p(search->graph, closed->levels, from, to, label)) return true;
    return closed->reference_count > 0 && bsearch(&reference, closed->references, closed->reference_count,
                                                  sizeof(reference), compare_references);
}

static void
reach(struct path_search *search, uint32_t from, uint32_t to, uint32_t label)
{
    struct graph_tree *tree = search->tree;

    tree->from[to] = from;
    tree->labels[to] = label;
    tree->order[tree->count++] = to;
    search->distances[to] = from ? search->distances[from] + 1 : ROOT_DISTANCE;
}

/* Follows a reference now, or lets it wait. Returns false if there is no memory. */
static bool
follow(struct path_search *search, uint32_t from, uint32_t to, uint32_t label, enum graph_strength strength)
{
    uint32_t distance = from ? search->distances[from] + 1 : ROOT_DISTANCE;

    if (search->tree->from[to] != GRAPH_UNREACHED ||
        closed_p(search, from, to, label)) return true;
    if (strength <= search->strength) {
        reach(search, from, to, label);
        return true;
    }
    if (!GRAPH_SPACE_GROW(search->tree->space, search->waiting, search->waiting_capacity,
                          search->waiting_count + 1)) return false;
    search->waiting[search->waiting_count++] =
        (struct waiting_reference){from, to, label, distance, (uint8_t)strength};
    return true;
}

static bool
follow_all(struct path_search *search, uint32_t from)
{
    const struct graph *graph = search->graph;
    uint32_t class_object = graph_class(graph, from);
    bool room = true;

    for (uint32_t i = graph->first[from]; room && i < graph->first[from + 1]; i++) {
        uint32_t to = graph->targets[i], label = graph->labels[i];
        if (search->tree->from[to] != GRAPH_UNREACHED) continue;
        room = follow(search, from, to, label, graph_strength(graph, from, label));
    }
    if (!class_object) return room;
    return room && follow(search, from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0), GRAPH_FIRM);
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
                                     reference->distance <= search->distances[tree->order[search->looked_at]] + 1);
        if (!waited) room = follow_all(search, tree->order[search->looked_at++]);
        else if (next++, tree->from[reference->to] == GRAPH_UNREACHED) {
            reach(search, reference->from, reference->to, reference->label);
        }
    }
    search->waiting_count -= end;
    if (end) memmove(search->waiting, search->waiting + end, search->waiting_count * sizeof(*search->waiting));
    return room;
}

static void
reach_module(struct path_search *search, uint32_t from, uint32_t to, uint32_t label)
{
    if (search->tree->from[to] != GRAPH_UNREACHED || !graph_layout(search->graph, to)->module ||
        closed_p(search, from, to, label)) return;
    reach(search, from, to, label);
    search->distances[to] = 0;
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
        reach_module(search, 0, root->target, graph_root_label(root));
    }
    for (uint32_t at = 0; at < search->tree->count; at++) {
        uint32_t from = search->tree->order[at], class_object = graph_class(graph, from);
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            if (graph_strength(graph, from, graph->labels[i]) != GRAPH_FIRM) continue;
            reach_module(search, from, graph->targets[i], graph->labels[i]);
        }
        if (!class_object) continue;
        reach_module(search, from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
    }
}

static bool
find_all_paths(struct path_search *search)
{
    const struct graph *graph = search->graph;

    reach_modules(search);
    for (uint32_t i = 0; i < graph->root_count; i++) {
        const struct graph_root *root = &graph->roots[i];
        if (!follow(search, 0, root->target, graph_root_label(root),
                    graph_root_strength(graph, root))) return false;
    }
    for (; search->strength < GRAPH_STRENGTHS; search->strength++) if (!find_paths(search)) return false;
    return true;
}

bool
graph_shortest(struct graph_tree *tree, struct graph *graph, const struct graph_closed *closed)
{
    struct path_search search = {.tree = tree, .graph = graph, .closed = closed};
    bool room = begin(tree, graph) &&
                GRAPH_SPACE_GROW(tree->space, search.distances, search.distances_capacity, (size_t)graph->count + 1) &&
                find_all_paths(&search);

    GRAPH_SPACE_RELEASE(tree->space, search.distances, search.distances_capacity);
    GRAPH_SPACE_RELEASE(tree->space, search.waiting, search.waiting_capacity);
    return room;
}

/* ---- from dominator to dominator ---- */

/* Notes that a reference with this label leads from an object, or from a root, to another
 * object. The strongest one is kept. */
static void
label(struct graph_tree *tree, const struct graph *graph, uint32_t from, uint32_t to, uint32_t of_reference)
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

static void
label_references(struct graph_tree *tree, const struct graph *graph, const struct graph_levels *levels)
{
    for (uint32_t from = 1; from <= graph->count; from++) {
        uint32_t class_object = graph_class(graph, from);
        if (tree->from[from] == GRAPH_UNREACHED) continue;
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            uint32_t to = graph->targets[i];
            if (graph_weaker_p(graph, levels, from, to, graph->labels[i])) continue;
            label(tree, graph, from, to, graph->labels[i]);
        }
        if (class_object) label(tree, graph, from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
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
    label_roots(tree, graph, &dominators->levels);
    label_references(tree, graph, &dominators->levels);
    room = graph_dominated_make(&dominated, graph, dominators);
    if (room) put_in_order(tree, &dominated);
    graph_dominated_free(&dominated);
    return room;
}
