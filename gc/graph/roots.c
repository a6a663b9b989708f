/* roots.c - where marking begins: the hooks in the ceiling from which all else hangs. Compiled
 * inside gc.c.
 *
 * As with objects (marked.c), marking tells the roots, by category, and what is known of the VM
 * names them. Roots that the collector marks by itself are in no category of
 * rb_objspace_reachable_objects_from_root, and are added here.
 */
#include "gc/graph/form.h"
#include "gc/interpreter.h"
#include "gc/book/mri.h"

/* ---- names ---- */

static void
graph_name_root(struct heapprof_graph *graph, const char *name, VALUE value)
{
    if (!RB_SPECIAL_CONST_P(value))
        graph_edge(graph, HEAPPROF_DUMP_ROOT, graph_text_of(graph, name), value);
}

static int
graph_name_values_i(st_data_t key, st_data_t value, st_data_t graph)
{
    graph_name_root((struct heapprof_graph *)graph, "overloaded methods", (VALUE)value);
    return ST_CONTINUE;
}

static int
graph_name_loading_i(st_data_t key, st_data_t value, st_data_t graph)
{
    graph_name_root((struct heapprof_graph *)graph, "files that are being loaded", (VALUE)value);
    return ST_CONTINUE;
}

static enum rb_id_table_iterator_result
graph_name_missing_method_i(VALUE method, void *graph)
{
    graph_name_root(graph, "methods that are missing", method);
    return ID_TABLE_CONTINUE;
}

static void
graph_name_traps(struct heapprof_graph *graph, const rb_vm_t *vm)
{
    char name[64];

    for (int signal = 0; signal < RUBY_NSIG; signal++) {
        const char *known = ruby_signal_name(signal);
        snprintf(name, sizeof(name), known ? "trap %s" : "trap %.0s%d", known ? known : "", signal);
        graph_name_root(graph, name, vm->trap_list.cmd[signal]);
    }
}

/* An address that is in no variable of a module is in memory of malloc, or on a stack. */
static void
graph_name_c_globals(struct heapprof_graph *graph, const rb_vm_t *vm)
{
    for (const struct global_object_list *list = vm->global_object_list; list; list = list->next) {
        const char *name =
            graph->c_global_name ? graph->c_global_name(graph->c_global_data, list->varptr) : NULL;
        if (RB_SPECIAL_CONST_P(*list->varptr)) continue;
        if (name)
            graph_edge(graph, HEAPPROF_DUMP_C_GLOBAL, graph_text_of(graph, name), *list->varptr);
        else graph_name_root(graph, "registered address", *list->varptr);
    }
}

static void
graph_name_features(struct heapprof_graph *graph, const rb_vm_t *vm)
{
    graph_name_root(graph, "$LOAD_PATH", vm->load_path);
    graph_name_root(graph, "$LOAD_PATH, as it was", vm->load_path_snapshot);
    graph_name_root(graph, "$LOAD_PATH, checked", vm->load_path_check_cache);
    graph_name_root(graph, "$LOAD_PATH, expanded", vm->expanded_load_path);
    graph_name_root(graph, "$LOADED_FEATURES", vm->loaded_features);
    graph_name_root(graph, "$LOADED_FEATURES, as they were", vm->loaded_features_snapshot);
    graph_name_root(graph, "$LOADED_FEATURES, real paths", vm->loaded_features_realpaths);
    graph_name_root(graph, "$LOADED_FEATURES, by real path", vm->loaded_features_realpath_map);
    if (vm->loading_table) st_foreach(vm->loading_table, graph_name_loading_i, (st_data_t)graph);
}

static void
graph_name_vm(struct heapprof_graph *graph)
{
    const rb_vm_t *vm = GET_VM();
    rb_ractor_t *ractor = NULL;

    ccan_list_for_each(&vm->ractor.set, ractor, vmlr_node)
        graph_name_root(graph, "ractor", rb_ractor_self(ractor));
    graph_name_c_globals(graph, vm);
    graph_name_root(graph, "objects that C code has registered", vm->mark_object_ary);
    graph_name_features(graph, vm);
    graph_name_root(graph, "main", vm->top_self);
    graph_name_root(graph, "program's name", vm->orig_progname);
    graph_name_root(graph, "coverage", vm->coverages);
    graph_name_root(graph, "coverage of methods", vm->me2counter);
    graph_name_root(graph, "VM", vm->self);
    graph_name_traps(graph, vm);
    rb_id_table_foreach_values(vm->negative_cme_table, graph_name_missing_method_i, graph);
    st_foreach(vm->overloaded_cme_table, graph_name_values_i, (st_data_t)graph);
    for (int i = 0; i < VM_GLOBAL_CC_CACHE_TABLE_SIZE; i++) {
        graph_name_root(graph, "call cache", (VALUE)vm->global_cc_cache_table[i]);
    }
}

/* ---- what marking finds, by category ---- */

static void
graph_begin_category(struct heapprof_graph *graph, const char *category)
{
    graph->category = category;
    graph->edge_count = 0;
    graph_forget_marked(graph);
}

static void
graph_write_root(struct heapprof_graph *graph, struct heapprof_graph_edge edge)
{
    if (RB_SPECIAL_CONST_P(edge.value)) return;
    if (edge.kind == HEAPPROF_DUMP_UNLABELLED) {
        bool stack = strcmp(graph->category, "machine_context") == 0;
        edge.kind = stack ? HEAPPROF_DUMP_STACK : HEAPPROF_DUMP_ROOT;
        edge.name = graph_text_of(graph, stack ? "machine stack" : graph->category);
    }
    rb_heapprof_dump_root(&graph->writer, (struct heapprof_dump_name){edge.kind, edge.name},
                          graph_text_of(graph, graph->category), edge.value);
}

static void
graph_end_category(struct heapprof_graph *graph)
{
    if (strcmp(graph->category, "vm") == 0) graph_name_vm(graph);
    graph_name_marked(graph);
    for (size_t i = 0; i < graph->edge_count; i++) graph_write_root(graph, graph->edges[i]);
}

static void
graph_root_i(const char *category, VALUE value, void *data)
{
    struct heapprof_graph *graph = data;

    if (strcmp(category, "global_tbl") == 0) return; /* these come with names, below */
    if (strcmp(category, graph->category) != 0) {
        graph_end_category(graph);
        graph_begin_category(graph, category);
    }
    graph_marked_i(value, graph);
}

/* ---- global variables ---- */

static void
graph_begin_global_i(ID id, const char *part, void *data)
{
    struct heapprof_graph *graph = data;
    VALUE text = rb_id2str(id);

    graph->global.kind = part ? HEAPPROF_DUMP_ROOT : HEAPPROF_DUMP_GLOBAL;
    graph->global.name = graph_id_name(graph, id);
    if (!part || !text) return;
    char name[HEAPPROF_NAME_BYTES];
    snprintf(name, sizeof(name), "%s of %.*s", part, (int)RSTRING_LEN(text), RSTRING_PTR(text));
    graph->global.name = graph_text_of(graph, name);
}

/* $: has the VM as its data. */
static void
graph_global_i(VALUE value, void *data)
{
    struct heapprof_graph *graph = data;
    struct heapprof_graph_edge edge = {value, graph->global.kind, graph->global.name};

    if (value == GET_VM()->self)
        edge =
            (struct heapprof_graph_edge){ value, HEAPPROF_DUMP_ROOT, graph_text_of(graph, "VM") };
    graph_write_root(graph, edge);
}

static void
graph_globals(struct heapprof_graph *graph)
{
    rb_vm_t *vm = GET_VM();
    struct gc_mark_func_data_struct global = {.mark_func = graph_global_i, .data = graph};

    graph_begin_category(graph, "global_tbl");
    vm->gc.mark_func_data = &global;
    rb_heapprof_globals_mark(graph_begin_global_i, graph);
    vm->gc.mark_func_data = NULL;
}

/* ---- symbols ---- */

/* The VM keeps its tables of symbols as C code keeps objects: registered, and marked from there.
 * As roots they have names of their own. */
static void
graph_symbol_tables(struct heapprof_graph *graph)
{
    graph_begin_category(graph, "symbols");
    graph_name_root(graph, "symbol table", ruby_global_symbols.ids);
    graph_name_root(graph, "symbol table, made at run time", ruby_global_symbols.dsymbol_fstr_hash);
    for (size_t i = 0; i < graph->edge_count; i++) graph_write_root(graph, graph->edges[i]);
}

/* ---- the collector's own ---- */

static int
graph_finalizer_i(st_data_t object, st_data_t finalizers, st_data_t data)
{
    struct heapprof_graph *graph = (struct heapprof_graph *)data;
    char name[HEAPPROF_NAME_BYTES + 16] = "finalizer";
    VALUE klass = rb_heapprof_real_class((VALUE)object);

    if (klass) {
        size_t prefix = (size_t)sprintf(name, "finalizer of ");
        name[prefix + rb_heapprof_class_text(klass, name + prefix)] = '\0';
    }
    graph_name_root(graph, name, (VALUE)finalizers);
    return ST_CONTINUE;
}

static int
graph_object_id_i(st_data_t object, st_data_t id, st_data_t graph)
{
    graph_name_root((struct heapprof_graph *)graph, "object id", (VALUE)id);
    return ST_CONTINUE;
}

static void
graph_collector_roots(struct heapprof_graph *graph)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    graph_begin_category(graph, "objspace");
    if (finalizer_table) st_foreach(finalizer_table, graph_finalizer_i, (st_data_t)graph);
    st_foreach(objspace->obj_to_id_tbl, graph_object_id_i, (st_data_t)graph);
    if (stress_to_class) graph_name_root(graph, "GC.add_stress_to_class", stress_to_class);
    for (size_t i = 0; i < graph->edge_count; i++) graph_write_root(graph, graph->edges[i]);
}

HEAPPROF_COLD static void
graph_roots(struct heapprof_graph *graph)
{
    graph_collector_roots(graph);
    graph_symbol_tables(graph);
    graph_begin_category(graph, "vm");
    rb_objspace_reachable_objects_from_root(graph_root_i, graph);
    graph_end_category(graph);
    graph_globals(graph);
}
