/* suspects.c - searches the dominator tree downwards from the roots, through objects that only
 * hold a program together.
 *
 * A class, a thread or a piece of code keeps much alive by its nature: the search continues
 * below it. The first other object that keeps much is a suspect. Below the suspect, the search
 * follows the one child that keeps nearly all of it. It ends if there is no such child, or if
 * the child is of the same class: that is the first node of a list. */
#include "graph/suspects.h"

#include <stdlib.h>
#include <string.h>

#define NEARLY_ALL(bytes) ((bytes) / 5 * 4)

struct sum {
    uint32_t class_number;
    uint32_t example, count;
    uint64_t retained;
};

struct suspects_search {
    struct graph *graph;
    struct graph_space *space;
    const struct graph_dominators *dominators;
    struct graph_dominated dominated;
    struct graph_suspect *suspects;
    size_t    count, most;
    uint64_t  least_bytes;
    uint32_t *waiting;           /* to be gone through */
    size_t    waiting_count;
    struct sum *sums;            /* children of one object by class */
    size_t    sum_count;
    uint32_t *by_class;          /* sum + 1 */
    size_t    waiting_capacity, sums_capacity, by_class_capacity;
};

#define GROW(search, array, count) \
    GRAPH_SPACE_GROW((search)->space, (search)->array, (search)->array##_capacity, (size_t)(count))

/* True if keeping much is normal for such an object. */
static bool
structure_p(const struct graph *graph, uint32_t object)
{
    static const char *const types[] = {"T_CLASS", "T_MODULE", "T_ICLASS", "T_IMEMO", "T_DATA(VM/",
                                        "T_DATA(ractor", "T_DATA(fiber", "T_DATA(thread"};
    const char *type = graph_type(graph, object);

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (!strncmp(type, types[i], strlen(types[i]))) return true;
    }
    return false;
}

/* ---- children by class ---- */

static int
more_retained(const void *a, const void *b)
{
    const struct sum *one = a, *other = b;

    if (one->retained != other->retained) return one->retained < other->retained ? 1 : -1;
    return (one->example > other->example) - (one->example < other->example);
}

/* Adds the children of an object up by class, into sums, largest first. */
static bool
add_children(struct suspects_search *search, uint32_t object)
{
    const struct graph *graph = search->graph;

    search->sum_count = 0;
    for (uint32_t i = search->dominated.first[object]; i < search->dominated.first[object + 1]; i++) {
        uint32_t child = search->dominated.children[i], class_number = graph_class_number(graph, child);
        struct sum *sum;
        if (!search->by_class[class_number]) {
            if (!GROW(search, sums, search->sum_count + 1)) return false;
            search->sums[search->sum_count] = (struct sum){class_number, child, 0, 0};
            search->by_class[class_number] = (uint32_t)++search->sum_count;
        }
        sum = &search->sums[search->by_class[class_number] - 1];
        sum->count++;
        sum->retained += search->dominators->retained[child];
        if (search->dominators->retained[child] > search->dominators->retained[sum->example]) sum->example = child;
    }
    for (size_t i = 0; i < search->sum_count; i++) search->by_class[search->sums[i].class_number] = 0;
    if (search->sum_count) qsort(search->sums, search->sum_count, sizeof(*search->sums), more_retained);
    return true;
}

/* ---- one suspect ---- */

/* Returns the child that retains most; 0 if there is none. */
static uint32_t
largest_child(const struct suspects_search *search, uint32_t object)
{
    uint32_t largest = 0;

    for (uint32_t i = search->dominated.first[object]; i < search->dominated.first[object + 1]; i++) {
        uint32_t child = search->dominated.children[i];
        if (!largest || search->dominators->retained[child] > search->dominators->retained[largest]) largest = child;
    }
    return largest;
}

static bool
same_class_p(const struct suspects_search *search, uint32_t one, uint32_t other)
{
    return graph_class_number(search->graph, one) == graph_class_number(search->graph, other);
}

static uint32_t
find_gathered(const struct suspects_search *search, uint32_t object)
{
    uint64_t enough = NEARLY_ALL(search->dominators->retained[object]);

    for (;;) {
        uint32_t child = largest_child(search, object);
        if (!child || search->dominators->retained[child] < enough ||
            same_class_p(search, object, child)) return object;
        object = child;
    }
}

static uint32_t
stack_of(const struct suspects_search *search, uint32_t object)
{
    const struct graph_sample *sample = object ? graph_sample(search->graph, object) : NULL;

    return sample ? sample->stack : 0;
}

/* Walks the list from gathered to its end: finds its length, and the stack of the first node
 * that has one. */
static void
follow_list(const struct suspects_search *search, struct graph_suspect *suspect)
{
    uint32_t object = suspect->gathered, child;

    suspect->stack = stack_of(search, object);
    for (suspect->parts = 1; (child = largest_child(search, object)) && same_class_p(search, object, child); suspect->parts++) {
        object = child;
        if (!suspect->stack) suspect->stack = stack_of(search, object);
    }
}

/* Finds the stack of the first of gathered's children that has one; a child of part's class
 * comes before any other. */
static uint32_t
stack_of_children(const struct suspects_search *search, uint32_t object, uint32_t part)
{
    uint32_t any = 0;

    for (uint32_t i = search->dominated.first[object]; i < search->dominated.first[object + 1]; i++) {
        uint32_t child = search->dominated.children[i], stack = stack_of(search, child);
        if (stack && same_class_p(search, child, part)) return stack;
        if (!any) any = stack;
    }
    return any;
}

static bool
describe(struct suspects_search *search, struct graph_suspect *suspect)
{
    if (suspect->count > 1) {
        suspect->stack = stack_of(search, suspect->object);
        return true;
    }
    suspect->gathered = find_gathered(search, suspect->object);
    if (!add_children(search, suspect->gathered)) return false;
    if (search->sum_count) {
        suspect->part = search->sums[0].example;
        suspect->parts = search->sums[0].count;
        suspect->list = suspect->parts == 1 && same_class_p(search, suspect->gathered, suspect->part);
    }
    if (suspect->list) follow_list(search, suspect);
    else suspect->stack = stack_of(search, suspect->part);
    if (!suspect->stack) suspect->stack = stack_of_children(search, suspect->gathered, suspect->part);
    if (!suspect->stack) suspect->stack = stack_of(search, suspect->gathered);
    return true;
}

/* ---- the suspects ---- */

/* Inserts a suspect among the largest, in order. */
static void
add_suspect(struct suspects_search *search, uint32_t object, uint32_t count, uint64_t retained)
{
    size_t at = search->count < search->most ? search->count++ : search->most - 1;

    if (at == search->most - 1 && search->suspects[at].object &&
        search->suspects[at].retained >= retained) return;
    for (; at > 0 && search->suspects[at - 1].retained < retained; at--) {
        search->suspects[at] = search->suspects[at - 1];
    }
    search->suspects[at] = (struct graph_suspect){.object = object, .count = count,
                                                           .retained = retained, .gathered = object};
}

static bool
look_at(struct suspects_search *search, uint32_t object)
{
    const uint64_t *retained = search->dominators->retained;

    for (uint32_t i = search->dominated.first[object]; i < search->dominated.first[object + 1]; i++) {
        uint32_t child = search->dominated.children[i];
        if (structure_p(search->graph, child)) {
            if (retained[child] < search->least_bytes) continue;
            if (!GROW(search, waiting, search->waiting_count + 1)) return false;
            search->waiting[search->waiting_count++] = child;
        }
        else if (retained[child] >= search->least_bytes) add_suspect(search, child, 1, retained[child]);
    }
    if (!add_children(search, object)) return false;
    for (size_t i = 0; i < search->sum_count && search->sums[i].retained >= search->least_bytes; i++) {
        const struct sum *sum = &search->sums[i];
        if (structure_p(search->graph, sum->example) ||
            retained[sum->example] >= search->least_bytes) continue;
        add_suspect(search, sum->example, sum->count, sum->retained);
    }
    return true;
}

static bool
find(struct suspects_search *search)
{
    if (!GROW(search, by_class, search->graph->names.class_count) ||
        !look_at(search, 0)) return false;
    while (search->waiting_count > 0) {
        if (!look_at(search, search->waiting[--search->waiting_count])) return false;
    }
    for (size_t i = 0; i < search->count; i++) {
        if (!describe(search, &search->suspects[i])) return false;
    }
    return true;
}

size_t
graph_suspects(struct graph_suspect *suspects, size_t most, struct graph *graph,
               const struct graph_dominators *dominators, uint64_t least_bytes)
{
    struct suspects_search search = {.graph = graph, .space = &graph->space, .dominators = dominators,
                            .suspects = suspects,
                            .most = most, .least_bytes = least_bytes};
    bool room;

    memset(suspects, 0, most * sizeof(*suspects));
    room = graph_dominated_make(&search.dominated, graph, dominators) && find(&search);
    graph_dominated_free(&search.dominated);
    GRAPH_SPACE_RELEASE(search.space, search.waiting, search.waiting_capacity);
    GRAPH_SPACE_RELEASE(search.space, search.sums, search.sums_capacity);
    GRAPH_SPACE_RELEASE(search.space, search.by_class, search.by_class_capacity);
    return room ? search.count : SIZE_MAX;
}
