/* strength.c - finds how firmly objects are held: first all that firm references reach, then
 * what words of a stack reach besides, at last what only caches reach. */
#include "graph/strength.h"

#include <stdlib.h>
#include <string.h>

/* ---- one reference ---- */

enum graph_strength
graph_root_strength(const struct graph *graph, const struct graph_root *root)
{
    uint8_t level = graph_label_level(graph, graph_root_label(root));

    if (level != GRAPH_FIRM) return level;
    switch (root->label) {
      case HEAPPROF_DUMP_GLOBAL: return GRAPH_FIRM;
      case HEAPPROF_DUMP_UNLABELLED: return GRAPH_ON_STACK;
      default: return graph_layout(graph, root->target)->module ? GRAPH_FIRM : GRAPH_OF_VM;
    }
}

/* What a thread, a fiber or a Ractor refers to. References from a frame name it. */
static enum graph_strength
strength_of_thread(const struct graph *graph, uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_STACK: return GRAPH_ON_STACK;
      case HEAPPROF_DUMP_FIELD: case HEAPPROF_DUMP_LOCAL:
        return graph_role(&graph->names, graph_label_detail(label)) == GRAPH_ROLE_OF_FRAME
                   ? GRAPH_OF_FRAME
                   : GRAPH_OF_THREAD;
      case HEAPPROF_DUMP_UNLABELLED: return GRAPH_OF_THREAD;
      default: return GRAPH_FIRM;
    }
}

enum graph_strength
graph_strength(const struct graph *graph, uint32_t from, uint32_t label)
{
    if (graph_layout(graph, from)->thread) return strength_of_thread(graph, label);
    return graph_label_level(graph, label);
}

/* ---- all objects ---- */

struct weak_reference {
    uint32_t to;
    uint8_t  level;
};

struct level_search {
    struct graph *graph;
    struct graph_space *space;
    uint8_t  *of;
    uint32_t *waiting;           /* objects whose references have not been followed */
    uint32_t  waiting_count;
    struct weak_reference *weak; /* references that are followed at their level */
    size_t    weak_count;
    size_t    waiting_capacity, weak_capacity;
    uint8_t   level;
};

#define GROW(search, array, count) \
    GRAPH_SPACE_GROW((search)->space, (search)->array, (search)->array##_capacity, (size_t)(count))

static inline void
reach(struct level_search *search, uint32_t to)
{
    if (search->of[to] <= search->level) return;
    search->of[to] = search->level;
    search->waiting[search->waiting_count++] = to;
}

/* Reaches an object now, or lets the reference wait. Returns false if there is no memory. */
static bool
follow(struct level_search *search, uint32_t to, uint8_t level)
{
    if (level <= search->level) reach(search, to);
    else if (search->of[to] > level) {
        if (!GROW(search, weak, search->weak_count + 1)) return false;
        search->weak[search->weak_count++] = (struct weak_reference){to, level};
    }
    return true;
}

static bool
follow_all(struct level_search *search)
{
    const struct graph *graph = search->graph;

    while (search->waiting_count > 0) {
        uint32_t from = search->waiting[--search->waiting_count], end = graph->first[from + 1];
        bool of_vm = graph->bits[from] & GRAPH_HAS_VM_LABELS;
        for (uint32_t i = graph->first[from]; i < end; i++) {
            uint32_t to = graph->targets[i];
            if (!of_vm) {
                reach(search, to);
                continue;
            }
            if (!follow(search, to, graph_label_level(graph, graph->labels[i]))) return false;
        }
        reach(search, graph_class(graph, from));
    }
    return true;
}

static bool
find_levels(struct level_search *search)
{
    static const uint8_t levels[] = {GRAPH_FIRM, GRAPH_ON_STACK, GRAPH_CACHED};
    const struct graph *graph = search->graph;

    for (uint32_t i = 0; i < graph->root_count; i++) {
        if (!follow(search, graph->roots[i].target,
                    graph_label_level(graph, graph_root_label(&graph->roots[i])))) return false;
    }
    for (size_t i = 0; i < sizeof(levels); i++) {
        search->level = levels[i];
        for (size_t at = 0; at < search->weak_count; at++) {
            struct weak_reference weak = search->weak[at];
            if (weak.level == search->level) reach(search, weak.to);
        }
        if (!follow_all(search)) return false;
    }
    return true;
}

bool
graph_levels_find(struct graph_levels *levels, struct graph *graph)
{
    struct level_search search = {.graph = graph, .space = &graph->space};
    size_t count = (size_t)graph->count + 1;
    bool room;

    *levels = (struct graph_levels){.space = &graph->space};
    if (!GRAPH_SPACE_GROW(levels->space, levels->of, levels->of_capacity, count)) return false;
    memset(levels->of, GRAPH_STRENGTHS, count);
    levels->of[0] = GRAPH_FIRM; /* so it is never reached as a class that is not in the dump */
    search.of = levels->of;
    room = GROW(&search, waiting, count) && find_levels(&search);
    GRAPH_SPACE_RELEASE(search.space, search.waiting, search.waiting_capacity);
    GRAPH_SPACE_RELEASE(search.space, search.weak, search.weak_capacity);
    return room;
}

void
graph_levels_free(struct graph_levels *levels)
{
    GRAPH_SPACE_RELEASE(levels->space, levels->of, levels->of_capacity);
}
