/* class.c - what classes and modules refer to. Compiled inside gc.c.
 *
 * They are read as rb_gc_mark_children marks them, except call caches that are void: marking
 * would free those.
 */
#include "gc/graph/form.h"
#include "id_table.h"
#include "variable.h"

static enum rb_id_table_iterator_result
graph_method_i(ID id, VALUE method, void *data)
{
    struct heapprof_graph *graph = data;
    char name[HEAPPROF_NAME_BYTES];
    VALUE text = rb_id2str(id);
    int length = text ? snprintf(name, sizeof(name), "method %.*s", (int)RSTRING_LEN(text),
                                 RSTRING_PTR(text))
                      : 0;

    if (length >= (int)sizeof(name)) length = sizeof(name) - 1;
    graph_edge(graph, HEAPPROF_DUMP_FIELD,
               rb_heapprof_dump_string(&graph->writer, name, (size_t)length), method);
    return ID_TABLE_CONTINUE;
}

static enum rb_id_table_iterator_result
graph_class_variable_i(VALUE entry, void *graph)
{
    graph_field(graph, "class variable cache",
                (VALUE)((const struct rb_cvar_class_tbl_entry *)entry)->cref);
    return ID_TABLE_CONTINUE;
}

static enum rb_id_table_iterator_result
graph_call_caches_i(VALUE value, void *graph)
{
    const struct rb_class_cc_entries *caches = (const struct rb_class_cc_entries *)value;

    if (METHOD_ENTRY_INVALIDATED(caches->cme)) return ID_TABLE_CONTINUE;
    graph_field(graph, "cached method", (VALUE)caches->cme);
    for (int i = 0; i < caches->len; i++)
        graph_field(graph, "call cache", (VALUE)caches->entries[i].cc);
    return ID_TABLE_CONTINUE;
}

static enum rb_id_table_iterator_result
graph_constant_i(ID id, VALUE entry, void *data)
{
    struct heapprof_graph *graph = data;
    const rb_const_entry_t *constant = (const rb_const_entry_t *)entry;

    graph_edge(graph, HEAPPROF_DUMP_CONSTANT, graph_id_name(graph, id), constant->value);
    graph_field(graph, "file of a constant", constant->file);
    return ID_TABLE_CONTINUE;
}

static void
graph_methods(struct heapprof_graph *graph, struct rb_id_table *methods)
{
    if (methods) rb_id_table_foreach(methods, graph_method_i, graph);
}

static void
graph_call_caches(struct heapprof_graph *graph, VALUE klass)
{
    if (RCLASS_CC_TBL(klass))
        rb_id_table_foreach_values(RCLASS_CC_TBL(klass), graph_call_caches_i, graph);
}

static void
graph_included(struct heapprof_graph *graph, VALUE klass)
{
    if (RICLASS_OWNS_M_TBL_P(klass)) graph_methods(graph, RCLASS_M_TBL(klass));
    graph_field(graph, "superclass", RCLASS_SUPER(klass));
    graph_field(graph, "includer", RCLASS_INCLUDER(klass));
    graph_methods(graph, RCLASS_CALLABLE_M_TBL(klass));
    graph_call_caches(graph, klass);
}

static void
graph_class_variables(struct heapprof_graph *graph, VALUE klass)
{
    if (rb_shape_obj_too_complex(klass)) graph_variables(graph, RCLASS_IV_HASH(klass));
    else
        graph_shape_variables(graph, RCLASS_SHAPE_ID(klass), RCLASS_IVPTR(klass),
                              RCLASS_IV_COUNT(klass));
}

static void
graph_class(struct heapprof_graph *graph, struct graph_object *o)
{
    VALUE klass = o->object;

    if (RB_TYPE_P(klass, T_ICLASS)) {
        graph_included(graph, klass);
        return;
    }
    if (RB_TYPE_P(klass, T_CLASS) && RCLASS_SINGLETON_P(klass))
        graph_field(graph, "attached", RCLASS_ATTACHED_OBJECT(klass));
    graph_field(graph, "superclass", RCLASS_SUPER(klass));
    graph_methods(graph, RCLASS_M_TBL(klass));
    if (RCLASS_CVC_TBL(klass))
        rb_id_table_foreach_values(RCLASS_CVC_TBL(klass), graph_class_variable_i, graph);
    graph_call_caches(graph, klass);
    graph_class_variables(graph, klass);
    if (RCLASS_CONST_TBL(klass))
        rb_id_table_foreach(RCLASS_CONST_TBL(klass), graph_constant_i, graph);
    graph_field(graph, "class path", RCLASS_EXT(klass)->classpath);
}
