/* groups.c - each object counts in its group; and what it retains, when the way down to it leads through no other
 * object of the group.
 *
 * The way down is that of the dominator tree, child by child. first[object] is where its next child stands: the
 * children of one object are one behind the other, so the first of somebody else ends them.
 */
#include "graph/groups.h"

#include <stdlib.h>

#define GROW(groups, array, count) \
    HEAPPROF_SPACE_GROW((groups)->space, (groups)->array, (groups)->array##_capacity, (size_t)(count))

/* ---- which group ---- */

static uint32_t
key_of(const struct heapprof_graph *graph, uint32_t object, enum heapprof_graph_grouping by)
{
    const struct heapprof_graph_sample *sample;

    switch (by) {
    case HEAPPROF_GRAPH_BY_CLASS: return rb_heapprof_graph_class_number(graph, object);
    case HEAPPROF_GRAPH_BY_AGE: return graph->bits[object] & HEAPPROF_DUMP_AGE;
    default: sample = rb_heapprof_graph_sample(graph, object);
    }
    if (!sample) return 0;
    return by == HEAPPROF_GRAPH_BY_STACK ? sample->stack : graph->names.stacks[rb_heapprof_graph_site(&graph->names, sample->stack)].file;
}

static uint32_t
keys_of(const struct heapprof_graph *graph, enum heapprof_graph_grouping by)
{
    switch (by) {
    case HEAPPROF_GRAPH_BY_CLASS: return graph->names.class_count;
    case HEAPPROF_GRAPH_BY_STACK: return graph->names.stack_count;
    case HEAPPROF_GRAPH_BY_FILE: return graph->names.string_count;
    default: return HEAPPROF_DUMP_AGE + 1;
    }
}

/* How many objects that one stands for. */
static double
weight_of(const struct heapprof_graph *graph, uint32_t object, enum heapprof_graph_grouping by)
{
    const struct heapprof_graph_sample *sample;

    if (by == HEAPPROF_GRAPH_BY_CLASS || by == HEAPPROF_GRAPH_BY_AGE) return 1;
    sample = rb_heapprof_graph_sample(graph, object);
    return sample ? (double)sample->weight / 1000 : 1;
}

static bool
add(struct heapprof_graph_groups *groups, const struct heapprof_graph *graph, uint32_t object,
    enum heapprof_graph_grouping by)
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
    struct heapprof_graph_groups *groups;
    const struct heapprof_graph *graph;
    const struct heapprof_dominators *dominators;
    struct heapprof_dominated dominated;
    enum heapprof_graph_grouping by;
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

bool
rb_heapprof_graph_groups_make(struct heapprof_graph_groups *groups, struct heapprof_graph *graph,
                              const struct heapprof_dominators *dominators, enum heapprof_graph_grouping by)
{
    struct descent descent = {.groups = groups, .graph = graph, .dominators = dominators, .by = by};
    bool room;

    *groups = (struct heapprof_graph_groups){.space = &graph->space};
    if (!GROW(groups, of, graph->count + 1) || !GROW(groups, by_key, keys_of(graph, by))) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (dominators->dominators[object] == HEAPPROF_UNREACHED) continue;
        if (!add(groups, graph, object, by)) return false;
    }
    room = GROW(groups, inside, groups->count) && rb_heapprof_dominated_make(&descent.dominated, graph, dominators);
    if (room) descend(&descent);
    rb_heapprof_dominated_free(&descent.dominated);
    return room;
}

void
rb_heapprof_graph_groups_free(struct heapprof_graph_groups *groups)
{
    HEAPPROF_SPACE_RELEASE(groups->space, groups->all, groups->all_capacity);
    HEAPPROF_SPACE_RELEASE(groups->space, groups->of, groups->of_capacity);
    HEAPPROF_SPACE_RELEASE(groups->space, groups->by_key, groups->by_key_capacity);
    HEAPPROF_SPACE_RELEASE(groups->space, groups->inside, groups->inside_capacity);
}

static int
more_bytes(const void *a, const void *b)
{
    const struct heapprof_graph_group *one = a, *other = b;

    if (one->bytes != other->bytes) return one->bytes < other->bytes ? 1 : -1;
    return (one->key > other->key) - (one->key < other->key);
}

static int
more_retained(const void *a, const void *b)
{
    const struct heapprof_graph_group *one = a, *other = b;

    return one->retained != other->retained ? (one->retained < other->retained ? 1 : -1) : more_bytes(a, b);
}

void
rb_heapprof_graph_groups_sort(struct heapprof_graph_groups *groups, bool by_retained)
{
    if (groups->count) qsort(groups->all, groups->count, sizeof(*groups->all),
                             by_retained ? more_retained : more_bytes);
}
