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

/* Only by stack and by file, samples count for others. */
static inline bool
sampled_p(enum graph_grouping by)
{
    return by == GRAPH_BY_STACK || by == GRAPH_BY_FILE;
}

static inline const struct graph_sample *
sample_of(const struct graph *graph, uint32_t object, enum graph_grouping by)
{
    return sampled_p(by) ? graph_sample(graph, object) : NULL;
}

static inline uint32_t
key_of(const struct graph *graph, uint32_t object, enum graph_grouping by)
{
    const struct graph_sample *sample;

    if (by == GRAPH_BY_CLASS) return graph_class_number(graph, object);
    if (by == GRAPH_BY_AGE) return graph->bits[object] & HEAPPROF_DUMP_AGE;
    sample = sample_of(graph, object, by);
    if (!sample) return 0;
    return by == GRAPH_BY_STACK
               ? sample->stack
               : graph->names.stacks[graph_site(&graph->names, sample->stack)].file;
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
static inline double
weight_of(const struct graph_sample *sample)
{
    return sample ? (double)sample->weight / 1000 : 1;
}

static inline bool
add(struct graph_groups *groups, const struct graph *graph, uint32_t object,
    enum graph_grouping by)
{
    uint32_t key = key_of(graph, object, by);
    double weight = weight_of(sample_of(graph, object, by));
    struct graph_group *group;

    if (!groups->by_key[key]) {
        if (!GROW(groups, all, groups->count + 1)) return false;
        groups->all[groups->count].key = key;
        groups->by_key[key] = ++groups->count;
    }
    group = &groups->all[groups->by_key[key] - 1];
    group->objects += weight;
    group->bytes += weight * (double)graph->sizes[object];
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

static inline uint32_t
group_of(const struct descent *descent, uint32_t object)
{
    return descent->groups->by_key[key_of(descent->graph, object, descent->by)] - 1;
}

static inline void
add_retained(const struct descent *descent, uint32_t group, uint32_t object)
{
    double weight = weight_of(sample_of(descent->graph, object, descent->by));

    descent->groups->all[group].retained += weight * (double)descent->dominators->retained[object];
}

/* Does not go down to what retains nothing but itself. */
static void
descend(struct descent *descent)
{
    const uint32_t *dominators = descent->dominators->dominators;
    const uint32_t *children = descent->dominated.children;
    const uint64_t *retained = descent->dominators->retained, *sizes = descent->graph->sizes;
    uint32_t *next = descent->dominated.first, *inside = descent->groups->inside, at = 0;
    uint32_t reached = descent->dominators->reached;

    for (;;) {
        uint32_t child = next[at] < reached ? children[next[at]] : 0;
        if (child && dominators[child] == at) {
            uint32_t group = group_of(descent, child);
            next[at]++;
            if (inside[group] == 0) add_retained(descent, group, child);
            if (retained[child] == sizes[child]) continue;
            inside[group]++;
            at = child;
        }
        else if (at == 0) return;
        else {
            inside[group_of(descent, at)]--;
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
    if (!GROW(groups, by_key, keys_of(graph, by))) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (dominators->dominators[object] == GRAPH_UNREACHED) continue;
        if (!add(groups, graph, object, by)) return false;
    }
    room = GROW(groups, inside, groups->count) &&
           graph_dominated_make(&descent.dominated, graph, dominators);
    if (room) descend(&descent);
    bound_estimates(groups, (double)dominators->retained[0]);
    graph_dominated_free(&descent.dominated);
    return room;
}

void
graph_groups_free(struct graph_groups *groups)
{
    GRAPH_SPACE_RELEASE(groups->space, groups->all, groups->all_capacity);
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

    return one->retained != other->retained ? (one->retained < other->retained ? 1 : -1)
                                            : more_bytes(a, b);
}

void
graph_groups_sort(struct graph_groups *groups, bool by_retained)
{
    if (groups->count) qsort(groups->all, groups->count, sizeof(*groups->all),
                             by_retained ? more_retained : more_bytes);
}
