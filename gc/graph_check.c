/* graph_check.c - for checking builds: that what is written of an object is what MRI marks. Included by graph.c.
 *
 * Of types that marking functions are asked for this holds by itself (I2 of graph.c); the others are read here. Not in the child
 * of a fork: marking a class frees what is void.
 */

static void
graph_check_value(struct heapprof_graph *graph, VALUE value)
{
    if (RB_SPECIAL_CONST_P(value)) return;
    struct heapprof_graph_marked *marked = graph_find_marked(graph, value);
    HEAPPROF_ASSERT(marked);
    marked->labelled = true;
}

static void
graph_check_object(struct heapprof_graph *graph, const struct graph_object *o)
{
    graph_ask_marking(graph, o->object);
    for (size_t i = 0; i < o->fixed_count; i++) graph_check_value(graph, o->fixed[i]);
    for (size_t i = 0; i < o->tail_count; i++) graph_check_value(graph, o->tail[i]);
    for (size_t i = 0; i < graph->edge_count; i++) {
        if (graph->edges[i].kind != HEAPPROF_DUMP_WEAK) graph_check_value(graph, graph->edges[i].value);
    }
    for (size_t i = 0; i < graph->marked_count; i++) HEAPPROF_ASSERT(graph->marked[i].labelled);
}

static void
graph_check(struct heapprof_graph *graph, const struct graph_object *o)
{
    if (HEAPPROF_CHECK && !graph_guard.on) graph_check_object(graph, o);
}
