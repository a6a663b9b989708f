/* weak.c - references that keep nothing alive: those of ObjectSpace::WeakMap and WeakKeyMap,
 * and so of each WeakRef, which is a key of one. Compiled inside gc.c.
 *
 * Marking functions do not tell them: rb_gc_mark_weak does nothing outside of a GC. So the
 * tables are read here. Two kinds are not seen: an extension's own weak references, and the
 * class of a call cache, which may be dead and have its slot used again.
 */
#include "gc/graph/form.h"
#include "gc/book/mri.h"

static struct {
    const rb_data_type_t *map, *key_map;
} graph_weak;

HEAPPROF_COLD void
rb_heapprof_gc_graph_weak_types(const rb_data_type_t *map, const rb_data_type_t *key_map)
{
    graph_weak.map = map;
    graph_weak.key_map = key_map;
}

/* A reference to a dead object is undefined. */
static void
graph_weak_reference(struct heapprof_graph *graph, const char *name, VALUE value)
{
    if (UNDEF_P(value)) return;
    if (!RB_SPECIAL_CONST_P(value) && rb_gc_impl_garbage_object_p(rb_gc_get_objspace(), value))
        return;
    graph_edge(graph, HEAPPROF_DUMP_WEAK, graph_text_of(graph, name), value);
}

static int
graph_weak_map_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct heapprof_graph *graph = (struct heapprof_graph *)data;

    graph_weak_reference(graph, "key", *(const VALUE *)key);
    graph_weak_reference(graph, "value", *(const VALUE *)value);
    return ST_CONTINUE;
}

static int
graph_weak_key_map_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct heapprof_graph *graph = (struct heapprof_graph *)data;

    graph_weak_reference(graph, "key", *(const VALUE *)key);
    graph_field(graph, "value", (VALUE)value);
    return ST_CONTINUE;
}

static void
graph_weak_references(struct heapprof_graph *graph, VALUE object)
{
    const rb_data_type_t *type = RTYPEDDATA_P(object) ? RTYPEDDATA_TYPE(object) : NULL;

    if (!type || (type != graph_weak.map && type != graph_weak.key_map)) return;
    const struct mri_weak_map *map = RTYPEDDATA_GET_DATA(object);
    if (map && map->table) {
        st_foreach(map->table, type == graph_weak.map ? graph_weak_map_i : graph_weak_key_map_i,
                   (st_data_t)graph);
    }
}
