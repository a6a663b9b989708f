/* groups.c - counts each object in its group. What an object retains is added to its group only
 * if no object of the same group is above it in the dominator tree.
 *
 * The objects are visited by walking down the dominator tree, child by child. first[object] is
 * the position of the object's next child. The children of one object stand side by side, so
 * they end at the first child of another object. */
#include "graph/groups.h"

#include <stdlib.h>

#define GROW(groups, array, count) \
    GRAPH_SPACE_GROW((groups)->space, (groups)->array, (groups)->array##_capacity, (size_t)(count))

/* ---- which group ---- */

static uint32_t
key_of(const struct graph *graph, uint32_t object, enum graph_grouping by)
{
    const struct graph_sample *sample;

    switch (by) {
      case GRAPH_BY_CLASS: return graph_class_number(graph, object);
      case GRAPH_BY_AGE: return graph->bits[object] & HEAPPROF_DUMP_AGE;
      default: sample = graph_sample(graph, object);
    }
    if (!sample) return 0;
    return by == GRAPH_BY_STACK ? sample->stack : graph->names.stacks[graph_site(&graph->names, sample->stack)].file;
}

static uint32_t
keys_of(const struct graph *graph, enum graph_grouping by)
{
    switch (by) {
      case GRAPH_BY_CLASS: return graph->names.class_count;
      case GRAPH_BY_STACK: return graph->names.stack_count;
      case GRAPH_BY_FILE: return graph->names.string_count;
      default: return HEAPPROF_DUMP_AGE + 1;
    }
}

/* How many objects this one stands for. */
static double
weight_of(const struct graph *graph, uint32_t object, enum graph_grouping by)
{
    const struct graph_sample *sample;

    if (by == GRAPH_BY_CLASS || by == GRAPH_BY_AGE) return 1;
    sample = graph_sample(graph, object);
    return sample ? (double)sample->weight / 1000 : 1;
}

static bool
add(struct graph_groups *groups, const struct graph *graph, uint32_t object,
    enum graph_grouping by)
{
    uint32_t key = key_of(graph, object, by), number;
    double weight = weight_of(graph, object, by);

    if (!groups->by_key[key]) {
        if (!GROW(groups, all, groups->count + 1)) return false;
        groups->all[groups->count].key = key;
        groups->by_key[key] = ++groups->count;
    }
    number = groups->of[object] = groups->by_key[key] - 1;
    groups->all[number].objects += weight;
    groups->all[number].bytes += weight * (double)graph->sizes[object];
    return true;
}

/* ---- what they retain ---- */

struct descent {
    struct graph_groups *groups;
    const struct graph *graph;
    const struct graph_dominators *dominators;
    struct graph_dominated dominated;
    enum graph_grouping by;
};

static void
enter(struct descent *descent, uint32_t object)
{
    uint32_t group = descent->groups->of[object];

    if (descent->groups->inside[group]++ > 0) return;
    descent->groups->all[group].retained += weight_of(descent->graph, object, descent->by) *
                                            (double)descent->dominators->retained[object];
}

static void
descend(struct descent *descent)
{
    uint32_t *next = descent->dominated.first, at = 0;

    for (;;) {
        const uint32_t *dominators = descent->dominators->dominators;
        uint32_t child = next[at] < descent->dominators->reached ? descent->dominated.children[next[at]] : 0;
        if (child && dominators[child] == at) {
            next[at]++;
            enter(descent, at = child);
        }
        else if (at == 0) return;
        else {
            descent->groups->inside[descent->groups->of[at]]--;
            at = dominators[at];
        }
    }
}

/* A sample stands for many objects, and what it retains is counted for each of them. No estimate is
 * more than all that is alive. */
static void
bound_estimates(struct graph_groups *groups, double alive)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        if (groups->all[i].retained > alive) groups->all[i].retained = alive;
    }
}

bool
graph_groups_make(struct graph_groups *groups, struct graph *graph,
                  const struct graph_dominators *dominators, enum graph_grouping by)
{
    struct descent descent = {.groups = groups, .graph = graph, .dominators = dominators, .by = by};
    bool room;

    *groups = (struct graph_groups){.space = &graph->space};
    if (!GROW(groups, of, graph->count + 1) || !GROW(groups, by_key, keys_of(graph, by))) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (dominators->dominators[object] == GRAPH_UNREACHED) continue;
        if (!add(groups, graph, object, by)) return false;
    }
    room = GROW(groups, inside, groups->count) && graph_dominated_make(&descent.dominated, graph, dominators);
    if (room) descend(&descent);
    bound_estimates(groups, (double)dominators->retained[0]);
    graph_dominated_free(&descent.dominated);
    return room;
}

void
graph_groups_free(struct graph_groups *groups)
{
    GRAPH_SPACE_RELEASE(groups->space, groups->all, groups->all_capacity);
    GRAPH_SPACE_RELEASE(groups->space, groups->of, groups->of_capacity);
    GRAPH_SPACE_RELEASE(groups->space, groups->by_key, groups->by_key_capacity);
    GRAPH_SPACE_RELEASE(groups->space, groups->inside, groups->inside_capacity);
}

static int
more_bytes(const void *a, const void *b)
{
    const struct graph_group *one = a, *other = b;

    if (one->bytes != other->bytes) return one->bytes < other->bytes ? 1 : -1;
    return (one->key > other->key) - (one->key < other->key);
}

static int
more_retained(const void *a, const void *b)
{
    const struct graph_group *one = a, *other = b;

    return one->retained != other->retained ? (one->retained < other->retained ? 1 : -1) : more_bytes(a, b);
}

void
graph_groups_sort(struct graph_groups *groups, bool by_retained)
{
    if (groups->count) qsort(groups->all, groups->count, sizeof(*groups->all),
                             by_retained ? more_retained : more_bytes);
}
