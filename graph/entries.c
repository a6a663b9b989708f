/* entries.c - looks at each reference once, and leaves out those from the object's own island. A
 * frame, a stack or a cache is no entry, for these soon have others.
 *
 *     root --> A --> B         A has one entry. B has two: from A, and from C. The reference from
 *              A --> C --> B   D to B is no entry, because B keeps D.
 *                    B --> D --> B
 *
 * What an object keeps has the numbers that follow its own, in an order of the dominator tree in
 * which each child comes right after its parent, with all that it keeps. */
#include "graph/entries.h"

#define NONE    UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)
#define OF_ROOT ((uint32_t)1 << 31) /* and the number of the root: there are fewer objects */

struct islands {
    struct graph_space *space;
    uint32_t *begin;             /* by object: its number */
    uint32_t *size;              /* how many numbers it and what it keeps have */
    uint32_t *next;              /* the number of its next child */
    size_t    begin_capacity, size_capacity, next_capacity;
};

static bool
grow(struct islands *islands, size_t count)
{
    return GRAPH_SPACE_GROW(islands->space, islands->begin, islands->begin_capacity, count) &&
           GRAPH_SPACE_GROW(islands->space, islands->size, islands->size_capacity, count) &&
           GRAPH_SPACE_GROW(islands->space, islands->next, islands->next_capacity, count);
}

static void
release(struct islands *islands)
{
    GRAPH_SPACE_RELEASE(islands->space, islands->begin, islands->begin_capacity);
    GRAPH_SPACE_RELEASE(islands->space, islands->size, islands->size_capacity);
    GRAPH_SPACE_RELEASE(islands->space, islands->next, islands->next_capacity);
}

static void
number(struct islands *islands, const struct graph *graph, const struct graph_tree *tree)
{
    for (uint32_t i = 0; i <= graph->count; i++) islands->size[i] = 1;
    for (uint32_t i = tree->count; i-- > 0;)
        islands->size[tree->from[tree->order[i]]] += islands->size[tree->order[i]];
    islands->begin[0] = 0;
    islands->next[0] = 1;
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t object = tree->order[i], from = tree->from[object];
        islands->begin[object] = islands->next[from];
        islands->next[from] += islands->size[object];
        islands->next[object] = islands->begin[object] + 1;
    }
}

static bool
keeps_p(const struct islands *islands, uint32_t object, uint32_t other)
{
    return islands->begin[other] - islands->begin[object] < islands->size[object];
}

static void
add(struct graph_entries *entries, uint32_t to, uint32_t who)
{
    if (entries->all[to] == NONE) entries->all[to] = who;
    else if (entries->all[to] != who) entries->all[to] = SEVERAL;
}

/* Two words of one stack are one way in. Two variables are two. */
static void
add_root(struct graph_entries *entries, const struct graph *graph, uint32_t number)
{
    uint32_t to = graph->roots[number].target, known = entries->all[to];
    bool alike = known != NONE && known != SEVERAL && known & OF_ROOT &&
                 graph_root_label(&graph->roots[known & ~OF_ROOT]) ==
                     graph_root_label(&graph->roots[number]);

    if (!alike) add(entries, to, OF_ROOT | number);
}

static void
find(struct graph_entries *entries, const struct graph *graph,
     const struct graph_dominators *dominators, const struct islands *islands)
{
    for (uint32_t i = 0; i <= graph->count; i++) entries->all[i] = NONE;
    for (uint32_t i = 0; i < graph->root_count; i++) {
        if (graph_root_strength(graph, &graph->roots[i]) == GRAPH_FIRM)
            add_root(entries, graph, i);
    }
    for (uint32_t from = 1; from <= graph->count; from++) {
        if (dominators->dominators[from] == GRAPH_UNREACHED) continue;
        for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
            uint32_t to = graph->targets[i], label = graph->labels[i];
            if (graph_strength(graph, from, label) == GRAPH_FIRM &&
                !graph_weaker_p(graph, &dominators->levels, from, to, label) &&
                !keeps_p(islands, to, from))
                add(entries, to, from);
        }
    }
}

bool
graph_entries_find(struct graph_entries *entries, struct graph *graph,
                   const struct graph_dominators *dominators,
                   const struct graph_tree *dominator_tree)
{
    size_t count = (size_t)graph->count + 1;
    struct islands islands = {.space = &graph->space};

    *entries = (struct graph_entries){.space = &graph->space};
    bool room = grow(&islands, count) &&
                GRAPH_SPACE_GROW(entries->space, entries->all, entries->capacity, count);
    if (room) {
        number(&islands, graph, dominator_tree);
        find(entries, graph, dominators, &islands);
    }
    release(&islands);
    return room;
}

void
graph_entries_free(struct graph_entries *entries)
{
    GRAPH_SPACE_RELEASE(entries->space, entries->all, entries->capacity);
}

bool
graph_entries_several_p(const struct graph_entries *entries, const struct graph *graph,
                        const struct graph_dominators *dominators, uint32_t object)
{
    while (object && !graph_class(graph, object)) object = dominators->dominators[object];
    return object && entries->all[object] == SEVERAL;
}
