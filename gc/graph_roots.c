/* graph_roots.c - where marking begins. Included by graph.c. */

static void
graph_root(struct heapprof_graph *graph, enum heapprof_dump_label kind, const char *name, VALUE value)
{
    if (RB_SPECIAL_CONST_P(value)) return;
    rb_heapprof_dump_root(&graph->writer, (struct heapprof_dump_name){kind, graph_text_of(graph, name)}, graph->category, value);
}

static void
graph_root_i(const char *category, VALUE value, void *data)
{
    struct heapprof_graph *graph = data;
    bool stack = strcmp(category, "machine_context") == 0;

    graph->category = graph_text_of(graph, category);
    graph_root(graph, stack ? HEAPPROF_DUMP_STACK : HEAPPROF_DUMP_ROOT, stack ? "machine stack" : category, value);
}

static int
graph_finalizer_i(st_data_t object, st_data_t finalizers, st_data_t graph)
{
    graph_root((struct heapprof_graph *)graph, HEAPPROF_DUMP_ROOT, "finalizers", (VALUE)finalizers);
    return ST_CONTINUE;
}

static int
graph_object_id_i(st_data_t object, st_data_t id, st_data_t graph)
{
    graph_root((struct heapprof_graph *)graph, HEAPPROF_DUMP_ROOT, "object ids", (VALUE)id);
    return ST_CONTINUE;
}

/* What the collector itself marks, which rb_objspace_reachable_objects_from_root leaves out. */
HEAPPROF_COLD static void
graph_collector_roots(struct heapprof_graph *graph)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    graph->category = graph_text_of(graph, "objspace");
    if (finalizer_table) st_foreach(finalizer_table, graph_finalizer_i, (st_data_t)graph);
    st_foreach(objspace->obj_to_id_tbl, graph_object_id_i, (st_data_t)graph);
    if (stress_to_class) graph_root(graph, HEAPPROF_DUMP_ROOT, "GC.add_stress_to_class", stress_to_class);
}

HEAPPROF_COLD static void
graph_roots(struct heapprof_graph *graph)
{
    graph_collector_roots(graph);
    rb_objspace_reachable_objects_from_root(graph_root_i, graph);
}
