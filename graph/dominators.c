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
 * classes. An object to which exactly one reference leads has its referrer as its dominator. If it
 * has no references either, it gets no number. */
#include "graph/dominators.h"

#include <stdlib.h>
#include <string.h>

#define UNNUMBERED UINT32_MAX

/* How many references lead to an object. FOLDED: one, and the object got no number. */
enum referred {NEVER, ONCE, OFTEN, BY_ROOT, FOLDED};

struct search {
    struct graph *graph;
    const struct graph_levels *levels;
    struct graph_dominators *result;
    struct graph_space *space;
    uint8_t  *referred;          /* by object: enum referred */
    uint32_t *classes;           /* by layout: like layout_classes, without classes that a root
                                    refers to */
    uint32_t *numbers;           /* by object: its number. They stand in result->dominators, until
                                    the dominators are found */
    uint32_t *objects;           /* this one and those below by number */
    uint32_t *parents;
    uint32_t *next;              /* the next reference to follow; after the last one the class */
    uint32_t *referrers_first;
    uint32_t *referrers;         /* of each number the numbers that refer to it, if it is referred
                                    to more than once */
    uint32_t *semi;              /* semidominator. It stands where the end of the referrers stood */
    uint32_t *best;              /* the number with the least semidominator on the compressed path
                                    up */
    uint32_t *ancestors;         /* starts as parents; compression shortens it */
    uint32_t *way;               /* the path that is being compressed */
    uint32_t  count;             /* how many numbers */
    size_t referred_capacity, classes_capacity, objects_capacity, parents_capacity, next_capacity,
           referrers_first_capacity, referrers_capacity, best_capacity, ancestors_capacity,
           way_capacity;
};

#define GROW(search, array, count) \
    GRAPH_SPACE_GROW((search)->space, (search)->array, (search)->array##_capacity, (size_t)(count))
#define RELEASE(search, array) \
    GRAPH_SPACE_RELEASE((search)->space, (search)->array, (search)->array##_capacity)

/* ---- what is referred to ---- */

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
    uint32_t layouts = graph->names.layout_count, count = graph->first[graph->count + 1];
    const uint32_t *targets = graph->targets;
    uint8_t *referred;

    if (!GROW(search, referred, graph->count + 1) || !GROW(search, classes, layouts)) return false;
    referred = search->referred;
    for (uint32_t i = 0; i < count; i++) {
        referred[targets[i]] = referred[targets[i]] == NEVER ? ONCE : OFTEN;
    }
    for (uint32_t i = 0; i < graph->root_count; i++) {
        if (!root_skipped_p(search, &graph->roots[i])) referred[graph->roots[i].target] = BY_ROOT;
    }
    for (uint32_t i = 0; i < layouts; i++) {
        uint32_t object = graph->layout_classes[i];
        bool root = object && referred[object] == BY_ROOT;
        search->classes[i] = root ? 0 : object;
        if (object && !root) referred[object] = OFTEN;
    }
    return true;
}

/* True if an object that is referred to once has no references. */
static inline bool
leaf_p(const struct search *search, uint32_t object)
{
    const struct graph *graph = search->graph;

    return graph_degree(graph, object) == 0 && !search->classes[graph->layouts[object]];
}

static inline bool
skipped_p(const struct search *search, uint32_t from, uint32_t reference)
{
    uint32_t to = search->graph->targets[reference], label = search->graph->labels[reference];

    return graph_weaker_p(search->graph, search->levels, from, to, label);
}

/* ---- 1: numbers ---- */

/* Gives the next number to an object that `parent` refers to. Returns the number. */
static inline uint32_t
enter(struct search *search, uint32_t object, uint32_t parent)
{
    uint32_t number = search->count++;

    search->numbers[object] = number;
    search->objects[number] = object;
    search->parents[number] = parent;
    search->next[number] = search->graph->first[object];
    return number;
}

static inline void
fold(struct search *search, uint32_t leaf, uint32_t into)
{
    search->result->dominators[leaf] = into;
    search->referred[leaf] = FOLDED;
    search->result->reached++;
}

/* Follows one reference. Returns true if it leads to an object that needs a number. */
static inline bool
follow(struct search *search, uint32_t from, uint32_t to)
{
    uint8_t referred = search->referred[to];

    if (referred >= BY_ROOT) return false;
    if (referred == ONCE) {
        if (!leaf_p(search, to)) return true;
        fold(search, to, from);
        return false;
    }
    if (search->numbers[to] == UNNUMBERED) {
        search->referrers_first[search->count + 1]++;
        return true;
    }
    search->referrers_first[search->numbers[to] + 1]++;
    return false;
}

/* Follows the references of a number from the next one on. Returns the first object that needs a
 * number; 0 if there is none any more. */
static inline uint32_t
follow_all(struct search *search, uint32_t number)
{
    const struct graph *graph = search->graph;
    uint32_t from = search->objects[number], end = graph->first[from + 1];
    uint32_t next = search->next[number], class_object;
    bool maybe_weaker = graph_maybe_weaker_p(graph, search->levels, from);

    for (; next < end; next++) {
        uint32_t to = graph->targets[next];
        if ((maybe_weaker && skipped_p(search, from, next)) || !follow(search, from, to)) continue;
        search->next[number] = next + 1;
        return to;
    }
    class_object = next == end ? class_of(search, from) : 0;
    search->next[number] = end + 1;
    return class_object && follow(search, from, class_object) ? class_object : 0;
}

/* Numbers all objects that a root leads to, and that have no number yet. */
static void
number_from(struct search *search, const struct graph_root *root)
{
    uint32_t at;

    if (root_skipped_p(search, root) || search->numbers[root->target] != UNNUMBERED) return;
    at = enter(search, root->target, 0);
    while (at > 0) {
        uint32_t to = follow_all(search, at);
        at = to ? enter(search, to, at) : search->parents[at];
    }
}

static bool
number(struct search *search)
{
    const struct graph *graph = search->graph;
    size_t count = (size_t)graph->count + 1;

    if (!GROW(search, objects, count) || !GROW(search, parents, count) ||
        !GROW(search, next, count) || !GROW(search, referrers_first, count + 1)) return false;
    search->count = 1;
    for (uint32_t i = 0; i < graph->root_count; i++) number_from(search, &graph->roots[i]);
    RELEASE(search, next);
    return true;
}

/* ---- who refers to a number ---- */

static inline void
add_referrer(struct search *search, uint32_t from, uint32_t to)
{
    if (search->referred[to] != OFTEN) return;
    search->referrers[search->referrers_first[search->numbers[to]]++] = from;
}

/* While referrers are filled in, referrers_first[n] moves to the end of those of n, which is
 * where those of n + 1 begin. At the end it is moved back. */
static bool
collect_referrers(struct search *search)
{
    const struct graph *graph = search->graph;
    uint32_t *first = search->referrers_first, sum = 0;

    for (uint32_t i = 0; i <= search->count; i++) first[i] = sum += first[i];
    if (!GROW(search, referrers, (size_t)sum + 1)) return false;
    for (uint32_t from = 1; from < search->count; from++) {
        uint32_t object = search->objects[from], end = graph->first[object + 1];
        uint32_t class_object = class_of(search, object);
        bool maybe_weaker = graph_maybe_weaker_p(graph, search->levels, object);
        for (uint32_t i = graph->first[object]; i < end; i++) {
            if (maybe_weaker && skipped_p(search, object, i)) continue;
            add_referrer(search, from, graph->targets[i]);
        }
        if (class_object) add_referrer(search, from, class_object);
    }
    memmove(first + 1, first, search->count * sizeof(*first));
    first[0] = 0;
    RELEASE(search, classes);
    return true;
}

/* ---- 2: semidominators ---- */

/* Returns the number with the least semidominator on the path up from number, as far as the
 * path is in the forest (numbers from `linked` on, like number itself). Returns UNNUMBERED if there
 * is no memory. */
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

/* A number that is not done yet is its own semidominator. The end of a number's referrers is not
 * needed once it is done. */
static bool
find_semidominators(struct search *search)
{
    const uint32_t *first = search->referrers_first, *referrers = search->referrers;

    if (!GROW(search, best, search->count) || !GROW(search, ancestors, search->count)) return false;
    search->semi = search->referrers_first + 1;
    memcpy(search->ancestors, search->parents, search->count * sizeof(*search->parents));
    for (uint32_t i = search->count - 1; i > 0; i--) {
        uint32_t least = search->parents[i], end = first[i + 1];
        for (uint32_t at = first[i]; at < end; at++) {
            uint32_t semi = referrers[at];
            if (semi > i) {
                uint32_t best = evaluate(search, semi, i + 1);
                if (best == UNNUMBERED) return false;
                semi = search->semi[best];
            }
            if (semi < least) least = semi;
        }
        search->semi[i] = least;
        search->best[i] = i;
    }
    RELEASE(search, referrers);
    RELEASE(search, best);
    RELEASE(search, ancestors);
    RELEASE(search, way);
    return true;
}

/* ---- 3: dominators, and what they retain ---- */

/* Puts them in place of the numbers. */
static void
find_dominators(struct search *search)
{
    const uint32_t *objects = search->objects, *semi = search->semi;
    uint32_t *dominators = search->parents;

    for (uint32_t i = 1; i < search->count; i++) {
        uint32_t dominator = dominators[i], least = semi[i];
        while (dominator > least) dominator = dominators[dominator];
        dominators[i] = dominator;
        search->result->dominators[objects[i]] = objects[dominator];
    }
    search->result->reached += search->count - 1;
}

static bool
add_up_retained(struct search *search)
{
    struct graph_dominators *result = search->result;
    const uint32_t *objects = search->objects, *dominators = search->parents;
    const uint64_t *sizes = search->graph->sizes;
    uint32_t count = search->graph->count;
    uint64_t *retained;

    if (!GRAPH_SPACE_GROW(search->space, result->retained, result->retained_capacity,
                          (size_t)count + 1)) return false;
    retained = result->retained;
    for (uint32_t leaf = 1; leaf <= count; leaf++) {
        if (search->referred[leaf] != FOLDED) continue;
        retained[leaf] = sizes[leaf];
        retained[result->dominators[leaf]] += sizes[leaf];
    }
    for (uint32_t i = search->count - 1; i > 0; i--) {
        uint32_t object = objects[i];
        retained[object] += sizes[object];
        retained[objects[dominators[i]]] += retained[object];
    }
    return true;
}

static void
free_search(struct search *search)
{
    RELEASE(search, referred);
    RELEASE(search, classes);
    RELEASE(search, objects);
    RELEASE(search, parents);
    RELEASE(search, next);
    RELEASE(search, referrers_first);
    RELEASE(search, referrers);
    RELEASE(search, best);
    RELEASE(search, ancestors);
    RELEASE(search, way);
}

bool
graph_dominators_find(struct graph_dominators *dominators, struct graph *graph, bool exact)
{
    struct search search = {.graph = graph, .levels = &dominators->levels, .result = dominators,
                            .space = &graph->space};
    size_t count = (size_t)graph->count + 1;
    bool room;

    *dominators =
        (struct graph_dominators){ .space = &graph->space, .levels = { .space = &graph->space } };
    if (!GRAPH_SPACE_GROW(&graph->space, dominators->dominators, dominators->dominators_capacity,
                          count)) return false;
    memset(dominators->dominators, 0xff, count * sizeof(*dominators->dominators));
    search.numbers = dominators->dominators;
    room = (exact || graph_levels_find(&dominators->levels, graph)) && count_references(&search) &&
           number(&search) && collect_referrers(&search) && find_semidominators(&search);
    if (room) {
        find_dominators(&search);
        RELEASE(&search, referrers_first);
        room = add_up_retained(&search);
    }
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
