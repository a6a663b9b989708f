/* dominators.c - finds the dominators by the algorithm SemiNCA (Georgiadis, "Linear-Time
 * Algorithms for Dominators and Related Problems", 2005, section 2.3).
 *
 * 1. Number the objects that roots reach, depth first. Remember for each its parent in this
 * search, and its referrers.
 *
 * 2. From the last number to the first, find the semidominator: the least number from which a
 * path leads to the object over larger numbers only. The numbers done so far form a forest,
 * which is searched with path compression.
 *
 * 3. From the first number to the last, find the dominator: the nearest ancestor whose number
 * is not larger than that of the semidominator.
 *
 * Nothing recurses, because a linked list can be as deep as it is long. All arrays are indexed
 * by number, which is nearly the order of access.
 *
 * Two shortcuts are exact. The dominator of an object that a root refers to is the root: other
 * references to it change nothing and are not followed. These include nearly all references to
 * classes. And an object without references, to which exactly one reference leads, has its
 * referrer as its dominator: it gets no number. */
#include "graph/dominators.h"

#include <stdlib.h>
#include <string.h>

#define UNNUMBERED UINT32_MAX

struct frame {
    uint32_t object, next;       /* its next reference; after the last one its class */
};

struct search {
    struct graph *graph;
    const struct graph_levels *levels;
    struct graph_dominators *result;
    struct graph_space *space;
    uint8_t  *referred;          /* by object: 0, 1, 2 for more than once, or BY_ROOT */
    uint32_t *classes;           /* by layout: like layout_classes, without classes that a root
                                    refers to */
    uint32_t *numbers;           /* by object: its number */
    uint32_t *objects;           /* this one and those below by number */
    uint32_t *parents;
    uint32_t *referrers_first;
    uint32_t *referrers;         /* of each number the numbers that refer to it */
    uint32_t *semi, *best;       /* semidominator; the number with the least semidominator on the
                                    compressed path up */
    uint32_t *ancestors;         /* starts as parents; compression shortens it */
    struct frame *frames;        /* the path down to the present object */
    size_t    depth;
    uint32_t *way;               /* the path that is being compressed */
    uint32_t  count;             /* how many numbers */
    size_t referred_capacity, classes_capacity, numbers_capacity, objects_capacity, parents_capacity,
           referrers_first_capacity, referrers_capacity, semi_capacity, best_capacity, ancestors_capacity,
           frames_capacity, way_capacity;
};

#define GROW(search, array, count) \
    GRAPH_SPACE_GROW((search)->space, (search)->array, (search)->array##_capacity, (size_t)(count))
#define RELEASE(search, array) GRAPH_SPACE_RELEASE((search)->space, (search)->array, (search)->array##_capacity)

/* ---- what is referred to ---- */

#define BY_ROOT 3

static void
refer(struct search *search, uint32_t object)
{
    if (search->referred[object] < 2) search->referred[object]++;
}

static bool
root_skipped_p(const struct search *search, const struct graph_root *root)
{
    return graph_weaker_p(search->graph, search->levels, 0, root->target, graph_root_label(root));
}

/* The class of an object, if the reference to it counts; otherwise 0. */
static inline uint32_t
class_of(const struct search *search, uint32_t from)
{
    uint32_t class_object = search->classes[search->graph->layouts[from]];
    const uint8_t *levels = search->levels->of;

    return class_object && levels && levels[from] > levels[class_object] ? 0 : class_object;
}

static bool
count_references(struct search *search)
{
    const struct graph *graph = search->graph;
    uint32_t layouts = graph->names.layout_count;

    if (!GROW(search, referred, graph->count + 1) || !GROW(search, classes, layouts)) return false;
    for (uint32_t i = 0; i < graph->first[graph->count + 1]; i++) refer(search, graph->targets[i]);
    for (uint32_t i = 0; i < graph->root_count; i++) {
        if (!root_skipped_p(search, &graph->roots[i])) search->referred[graph->roots[i].target] = BY_ROOT;
    }
    for (uint32_t i = 0; i < layouts; i++) {
        uint32_t object = graph->layout_classes[i];
        bool root = object && search->referred[object] == BY_ROOT;
        search->classes[i] = root ? 0 : object;
        if (object && !root) search->referred[object] = 2;
    }
    return true;
}

static bool
leaf_p(const struct search *search, uint32_t object)
{
    const struct graph *graph = search->graph;

    return search->referred[object] == 1 && graph_degree(graph, object) == 0 &&
           !search->classes[graph->layouts[object]];
}

/* ---- 1: numbers ---- */

/* Gives the next number to an object that `parent` refers to, and continues the search there. */
static bool
enter(struct search *search, uint32_t object, uint32_t parent)
{
    uint32_t number = search->count++;

    if (!GROW(search, frames, search->depth + 1)) return false;
    search->numbers[object] = number;
    search->objects[number] = object;
    search->parents[number] = parent;
    search->frames[search->depth++] = (struct frame){object, object ? search->graph->first[object] : 0};
    return true;
}

static void
fold(struct search *search, uint32_t leaf, uint32_t into)
{
    search->result->dominators[leaf] = into;
    search->result->retained[leaf] = search->graph->sizes[leaf];
    search->result->retained[into] += search->graph->sizes[leaf];
    search->result->reached++;
}

static inline bool
skipped_p(const struct search *search, uint32_t from, uint32_t reference)
{
    const struct graph *graph = search->graph;

    return graph_weaker_p(graph, search->levels, from, graph->targets[reference], graph->labels[reference]);
}

/* Returns the next object that the frame's object refers to; UNNUMBERED if there are no more.
 * A reference that is looked through leads to 0, the root, which is numbered already. */
static inline uint32_t
next_target(const struct search *search, struct frame *frame)
{
    const struct graph *graph = search->graph;

    if (frame->object == 0) {
        const struct graph_root *root;
        if (frame->next == graph->root_count) return UNNUMBERED;
        root = &graph->roots[frame->next++];
        return root_skipped_p(search, root) ? 0 : root->target;
    }
    if (frame->next < graph->first[frame->object + 1]) {
        uint32_t i = frame->next++;
        return skipped_p(search, frame->object, i) ? 0 : graph->targets[i];
    }
    if (frame->next++ > graph->first[frame->object + 1]) return UNNUMBERED;
    return class_of(search, frame->object);
}

/* Follows one reference. Returns false if there is no memory. */
static inline bool
follow(struct search *search)
{
    struct frame *frame = &search->frames[search->depth - 1];
    uint32_t from = frame->object, to = next_target(search, frame);

    if (to == UNNUMBERED) search->depth--;
    else if (to == 0 || (from && search->referred[to] == BY_ROOT)) return true;
    else if (leaf_p(search, to)) fold(search, to, from);
    else {
        bool first = search->numbers[to] == UNNUMBERED;
        if (from) search->referrers_first[(first ? search->count : search->numbers[to]) + 1]++;
        return !first || enter(search, to, search->numbers[from]);
    }
    return true;
}

static bool
number(struct search *search)
{
    size_t count = (size_t)search->graph->count + 1;

    if (!GROW(search, numbers, count) || !GROW(search, objects, count) ||
        !GROW(search, parents, count) ||
        !GROW(search, referrers_first, count + 1)) return false;
    memset(search->numbers, 0xff, count * sizeof(*search->numbers));
    if (!enter(search, 0, 0)) return false;
    while (search->depth > 0 && follow(search));
    RELEASE(search, frames);
    return search->depth == 0;
}

/* ---- who refers to a number ---- */

static inline void
add_referrer(struct search *search, uint32_t from, uint32_t to)
{
    uint32_t number = search->numbers[to];

    if (number != UNNUMBERED && number != 0 && search->referred[to] != BY_ROOT) {
        search->referrers[search->referrers_first[number]++] = from;
    }
}

/* While referrers are filled in, referrers_first[n] moves to the end of those of n, which is
 * where those of n + 1 begin. At the end it is moved back. */
static bool
collect_referrers(struct search *search)
{
    const struct graph *graph = search->graph;
    uint32_t *first = search->referrers_first;

    for (uint32_t i = 0; i < search->count; i++) first[i + 1] += first[i];
    if (!GROW(search, referrers, (size_t)first[search->count] + 1)) return false;
    for (uint32_t from = 1; from < search->count; from++) {
        uint32_t object = search->objects[from], class_object = class_of(search, object);
        for (uint32_t i = graph->first[object]; i < graph->first[object + 1]; i++) {
            if (!skipped_p(search, object, i)) add_referrer(search, from, graph->targets[i]);
        }
        if (class_object) add_referrer(search, from, class_object);
    }
    memmove(first + 1, first, search->count * sizeof(*first));
    first[0] = 0;
    RELEASE(search, numbers);
    return true;
}

/* ---- 2: semidominators ---- */

/* Returns the number with the least semidominator on the path up from number, as far as the
 * path is in the forest (numbers from `linked` on). Returns UNNUMBERED if there is no memory. */
static inline uint32_t
evaluate(struct search *search, uint32_t number, uint32_t linked)
{
    uint32_t *ancestors = search->ancestors, *best = search->best, *semi = search->semi, least;
    size_t length = 0;

    if (ancestors[number] < linked) return best[number];
    for (; ancestors[number] >= linked; number = ancestors[number]) {
        if (!GROW(search, way, length + 1)) return UNNUMBERED;
        search->way[length++] = number;
    }
    least = best[number];
    for (uint32_t above = number; length > 0; above = number) {
        number = search->way[--length];
        ancestors[number] = ancestors[above];
        if (semi[least] < semi[best[number]]) best[number] = least;
        else least = best[number];
    }
    return best[number];
}

static bool
find_semidominators(struct search *search)
{
    if (!GROW(search, semi, search->count) || !GROW(search, best, search->count) ||
        !GROW(search, ancestors, search->count)) return false;
    memcpy(search->ancestors, search->parents, search->count * sizeof(*search->parents));
    for (uint32_t i = 0; i < search->count; i++) search->semi[i] = search->best[i] = i;
    for (uint32_t i = search->count - 1; i > 0; i--) {
        uint32_t least = search->parents[i];
        for (uint32_t at = search->referrers_first[i]; at < search->referrers_first[i + 1]; at++) {
            uint32_t best = evaluate(search, search->referrers[at], i + 1);
            if (best == UNNUMBERED) return false;
            if (search->semi[best] < least) least = search->semi[best];
        }
        search->semi[i] = least;
    }
    return true;
}

/* ---- 3: dominators, and what they retain ---- */

static void
find_dominators(struct search *search)
{
    struct graph_dominators *result = search->result;
    uint32_t *dominators = search->parents, *objects = search->objects;

    for (uint32_t i = 1; i < search->count; i++) {
        uint32_t dominator = dominators[i];
        while (dominator > search->semi[i]) dominator = dominators[dominator];
        dominators[i] = dominator;
        result->dominators[objects[i]] = objects[dominator];
    }
    for (uint32_t i = search->count - 1; i > 0; i--) {
        result->retained[objects[i]] += search->graph->sizes[objects[i]];
        result->retained[objects[dominators[i]]] += result->retained[objects[i]];
    }
    result->reached += search->count - 1;
}

static void
free_search(struct search *search)
{
    RELEASE(search, referred);
    RELEASE(search, classes);
    RELEASE(search, numbers);
    RELEASE(search, objects);
    RELEASE(search, parents);
    RELEASE(search, referrers_first);
    RELEASE(search, referrers);
    RELEASE(search, semi);
    RELEASE(search, best);
    RELEASE(search, ancestors);
    RELEASE(search, frames);
    RELEASE(search, way);
}

bool
graph_dominators_find(struct graph_dominators *dominators, struct graph *graph, bool exact)
{
    struct search search = {.graph = graph, .levels = &dominators->levels, .result = dominators,
                            .space = &graph->space};
    size_t count = (size_t)graph->count + 1;
    bool room;

    *dominators = (struct graph_dominators){.space = &graph->space, .levels = {.space = &graph->space}};
    if (!GRAPH_SPACE_GROW(&graph->space, dominators->dominators, dominators->dominators_capacity,
                          count) ||
        !GRAPH_SPACE_GROW(&graph->space, dominators->retained, dominators->retained_capacity,
                          count)) return false;
    memset(dominators->dominators, 0xff, count * sizeof(*dominators->dominators));
    room = (exact || graph_levels_find(&dominators->levels, graph)) && count_references(&search) &&
           number(&search) && collect_referrers(&search) && find_semidominators(&search);
    if (room) find_dominators(&search);
    free_search(&search);
    return room;
}

void
graph_dominators_free(struct graph_dominators *dominators)
{
    graph_levels_free(&dominators->levels);
    GRAPH_SPACE_RELEASE(dominators->space, dominators->dominators, dominators->dominators_capacity);
    GRAPH_SPACE_RELEASE(dominators->space, dominators->retained, dominators->retained_capacity);
}

/* ---- the tree from above ---- */

bool
graph_dominated_make(struct graph_dominated *dominated, struct graph *graph,
                     const struct graph_dominators *dominators)
{
    uint32_t *first;
    size_t count = (size_t)graph->count + 1;

    *dominated = (struct graph_dominated){.space = &graph->space};
    if (!GRAPH_SPACE_GROW(&graph->space, dominated->first, dominated->first_capacity, count + 1) ||
        !GRAPH_SPACE_GROW(&graph->space, dominated->children, dominated->children_capacity,
                          count)) return false;
    first = dominated->first;
    for (uint32_t i = 1; i < count; i++) {
        if (dominators->dominators[i] != GRAPH_UNREACHED) first[dominators->dominators[i] + 1]++;
    }
    for (size_t i = 0; i < count; i++) first[i + 1] += first[i];
    for (uint32_t i = 1; i < count; i++) {
        if (dominators->dominators[i] != GRAPH_UNREACHED) dominated->children[first[dominators->dominators[i]]++] = i;
    }
    memmove(first + 1, first, count * sizeof(*first));
    first[0] = 0;
    return true;
}

void
graph_dominated_free(struct graph_dominated *dominated)
{
    GRAPH_SPACE_RELEASE(dominated->space, dominated->first, dominated->first_capacity);
    GRAPH_SPACE_RELEASE(dominated->space, dominated->children, dominated->children_capacity);
}
