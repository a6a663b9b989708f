/* marked.c - what marking functions say that an object refers to, and the names of that: two
 * lists of guests are compared. Compiled inside gc.c.
 *
 *     edges    what is known: (value, name)        marked   what is marked
 *     0x7f..10 "self"                               0x7f..10
 *     0x7f..80 "code"                               0x7f..c8
 *          ->  0x7f..10 "self",  0x7f..c8 without a name
 */
#include "gc/graph/form.h"

static uint64_t
graph_marked_hash_i(const void *owner, uint32_t number)
{
    return rb_heapprof_index_hash(((const struct heapprof_graph *)owner)->marked[number - 1].value);
}

static struct heapprof_graph_marked *
graph_find_marked(struct heapprof_graph *graph, VALUE value)
{
    uint32_t number;

    for (uint64_t probe = rb_heapprof_index_hash(value);
         (number = rb_heapprof_index_at(&graph->marked_index, probe)) != 0; probe++) {
        if (graph->marked[number - 1].value == value) return &graph->marked[number - 1];
    }
    return NULL;
}

/* Adds a value once. */
static void
graph_add_marked(struct heapprof_graph *graph, VALUE value)
{
    if (graph_find_marked(graph, value)) return;
    if (!HEAPPROF_MEM_GROW(&graph->mem, graph->marked, graph->marked_capacity,
                           graph->marked_count + 1) ||
        !rb_heapprof_index_reserve(&graph->marked_index, &graph->mem, graph->marked_count,
                                   graph_marked_hash_i, graph)) {
        graph_failed(graph);
        return;
    }
    graph->marked[graph->marked_count++] = (struct heapprof_graph_marked){value, false};
    rb_heapprof_index_insert(&graph->marked_index, rb_heapprof_index_hash(value),
                             (uint32_t)graph->marked_count);
}

/* Is called by marking functions. */
static void
graph_marked_i(VALUE value, void *graph)
{
    sig_atomic_t calling = graph_guard.calling;

    graph_guard.calling = 0; /* no signal may end this in the middle */
    graph_add_marked(graph, value);
    graph_guard.calling = calling;
}

/* Returns true if a named edge is marked, or needs no mark. */
static bool
graph_take_label(struct heapprof_graph *graph, const struct heapprof_graph_edge *edge)
{
    if (RB_SPECIAL_CONST_P(edge->value) || edge->kind == HEAPPROF_DUMP_WEAK) return true;

    struct heapprof_graph_marked *marked = graph_find_marked(graph, edge->value);
    if (marked) marked->labelled = true;
    return marked != NULL;
}

/* Before, the edges are all that has a name. Afterwards they are what is marked. */
static void
graph_name_marked(struct heapprof_graph *graph)
{
    size_t kept = 0;

    for (size_t i = 0; i < graph->edge_count; i++) {
        if (graph_take_label(graph, &graph->edges[i])) graph->edges[kept++] = graph->edges[i];
    }
    graph->edge_count = kept;
    for (size_t i = 0; i < graph->marked_count; i++) {
        if (!graph->marked[i].labelled)
            graph_edge(graph, HEAPPROF_DUMP_UNLABELLED, 0, graph->marked[i].value);
    }
}

/* Asks the marking function of the object. Its class is not an edge: the layout has it. */
static void
graph_ask_marking(struct heapprof_graph *graph, VALUE object)
{
    graph_forget_marked(graph);
    rb_objspace_reachable_objects_from(object, graph_marked_i, graph);
    if (RB_TYPE_P(object, T_IMEMO) || !RBASIC_CLASS(object)) return;

    struct heapprof_graph_marked *klass = graph_find_marked(graph, RBASIC_CLASS(object));
    if (klass) klass->labelled = true;
}
