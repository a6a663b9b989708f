/* ways.c - the search for all paths to one object.
 *
 * The dominators of the object are on each path: they form its chain.
 *
 *     root --> A --> B --> object      A and B are the chain; the depths are 1, 2, 3, 4
 *               `-> x -^               B has two entries: from A, and from x, which B does not keep
 */
#include "cli/graph/ways.h"

#include <stdlib.h>

#include "base/array.h"

#define ROOT_DEPTH 1

static void
note_chain(struct cli_graph_ways *ways, const uint32_t *dominators, uint32_t object)
{
    uint32_t depth = ROOT_DEPTH;

    for (uint32_t at = object; at; at = dominators[at]) depth++;
    for (uint32_t at = object; at; at = dominators[at]) {
        ways->chain[at] = 1;
        ways->depths[at] = depth--;
    }
}

/* The objects on the way up get the depth, too, so that no later walk goes there again. */
static uint32_t
depth_of(struct cli_graph_ways *ways, const uint32_t *dominators, uint32_t object)
{
    uint32_t top = object, depth;

    while (top && !ways->depths[top]) top = dominators[top];
    depth = top ? ways->depths[top] : ROOT_DEPTH;
    for (uint32_t at = object; at != top; at = dominators[at]) ways->depths[at] = depth;
    return depth;
}

static void
count_entry(struct cli_graph_ways *ways, uint32_t from, uint32_t to, uint32_t label)
{
    const struct cli_graph *graph = ways->graph;
    const uint32_t *dominators = graph->dominators.dominators;

    if (!ways->chain[to] || (from && dominators[from] == GRAPH_UNREACHED) ||
        graph_weaker_p(&graph->graph, &graph->dominators.levels, from, to, label)) return;
    if (!from || depth_of(ways, dominators, from) < ways->depths[to]) ways->entries[to]++;
}

static void
count_entries(struct cli_graph_ways *ways)
{
    const struct graph *it = &ways->graph->graph;

    for (uint32_t i = 0; i < it->root_count; i++) {
        count_entry(ways, 0, it->roots[i].target, graph_root_label(&it->roots[i]));
    }
    for (uint32_t from = 1; from <= it->count; from++) {
        for (uint32_t i = it->first[from]; i < it->first[from + 1]; i++) {
            count_entry(ways, from, it->targets[i], it->labels[i]);
        }
        if (graph_class(it, from)) {
            count_entry(ways, from, graph_class(it, from), graph_label(HEAPPROF_DUMP_CLASS, 0));
        }
    }
}

bool
cli_graph_ways_begin(struct cli_graph_ways *ways, const struct cli_graph *graph, uint32_t object)
{
    size_t count = (size_t)graph->graph.count + 1;

    *ways = (struct cli_graph_ways){
        .graph = graph, .object = object,
        .closed = {.levels = &graph->dominators.levels, .objects = calloc(count, 1)},
        .depths = calloc(count, sizeof(*ways->depths)),
        .entries = calloc(count, sizeof(*ways->entries)), .chain = calloc(count, 1),
    };
    if (!ways->closed.objects || !ways->depths || !ways->entries || !ways->chain) return false;
    note_chain(ways, graph->dominators.dominators, object);
    count_entries(ways);
    return true;
}

void
cli_graph_ways_end(struct cli_graph_ways *ways)
{
    free(ways->closed.objects);
    free(ways->closed.references);
    free(ways->depths);
    free(ways->entries);
    free(ways->chain);
}

bool
cli_graph_ways_close(struct cli_graph_ways *ways, const struct graph_tree *tree, bool *any)
{
    struct graph_closed *closed = &ways->closed;
    uint32_t object = ways->object, start = graph_way_start(&ways->graph->graph, tree, object);

    *any = false;
    for (uint32_t at = object; at != start; at = tree->from[at]) {
        uint32_t from = tree->from[at];
        bool direct = ways->chain[at] && (from == start || ways->chain[from]);
        if (!ways->chain[at]) closed->objects[at] = 1;
        else if (ways->entries[at] < 2) continue;
        else ways->entries[at]--;
        *any = true;
        if (!direct) continue;
        if (!HEAPPROF_ARRAY_GROW(closed->references, closed->reference_capacity,
                                 closed->reference_count + 1))
            return false;
        closed->references[closed->reference_count++] =
            (struct graph_closed_reference){from, at, tree->labels[at]};
    }
    graph_closed_sort(closed);
    return true;
}
