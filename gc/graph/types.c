/* types.c - what objects of simple types refer to, read from their fields as
 * rb_gc_mark_children does. Compiled inside gc.c. */
#include "gc/graph/form.h"
#include "shape.h"

/* ---- references with labels of their own ---- */

static void
graph_edge(struct heapprof_graph *graph, enum heapprof_dump_label kind, uint32_t name, VALUE value)
{
    if (HEAPPROF_MEM_GROW(&graph->mem, graph->edges, graph->edges_capacity,
                          graph->edge_count + 1)) {
        graph->edges[graph->edge_count++] = (struct heapprof_graph_edge){value, kind, name};
    }
    else {
        graph_failed(graph);
    }
}

static void
graph_field(struct heapprof_graph *graph, const char *name, VALUE value)
{
    if (value) graph_edge(graph, HEAPPROF_DUMP_FIELD, graph_text_of(graph, name), value);
}

static void
graph_variable(struct heapprof_graph *graph, ID id, VALUE value)
{
    graph_edge(graph, graph_variable_kind(id), graph_variable_name(graph, id), value);
}

static int
graph_variable_i(st_data_t id, st_data_t value, st_data_t graph)
{
    graph_variable((struct heapprof_graph *)graph, (ID)id, (VALUE)value);
    return ST_CONTINUE;
}

static void
graph_variables(struct heapprof_graph *graph, st_table *variables)
{
    if (variables) st_foreach(variables, graph_variable_i, (st_data_t)graph);
}

/* Names come from the shape. Behind the named ivars there may be room for more, which is marked
 * as well: a variable that was removed keeps its value there. */
static void
graph_shape_variables(struct heapprof_graph *graph, shape_id_t shape_id, const VALUE *values,
                      size_t room)
{
    size_t first = graph->edge_count, named = rb_shape_get_shape_by_id(shape_id)->next_iv_index;
    size_t count = named < room ? named : room;

    for (size_t i = 0; i < count; i++) graph_edge(graph, HEAPPROF_DUMP_UNLABELLED, 0, values[i]);
    if (graph->edge_count != first + count) return;
    for (rb_shape_t *shape = rb_shape_get_shape_by_id(shape_id); shape;
         shape = shape->parent_id == INVALID_SHAPE_ID
                     ? NULL
                     : rb_shape_get_shape_by_id(shape->parent_id)) {
        if (shape->type != SHAPE_IVAR || shape->next_iv_index > count) continue;
        struct heapprof_graph_edge *edge = &graph->edges[first + shape->next_iv_index - 1];
        edge->kind = graph_variable_kind(shape->edge_name);
        edge->name = graph_variable_name(graph, shape->edge_name);
    }
    for (size_t i = count; i < room; i++) {
        if (!RB_SPECIAL_CONST_P(values[i]))
            graph_field(graph, "room of a removed variable", values[i]);
    }
}

/* Instance variables of an object that has no room for them in its slot. */
static void
graph_generic_ivars(struct heapprof_graph *graph, VALUE object)
{
    struct gen_ivtbl *ivars;

    if (!RB_FL_TEST_RAW(object, FL_EXIVAR) || !rb_gen_ivtbl_get(object, 0, &ivars)) return;
    if (rb_shape_obj_too_complex(object)) graph_variables(graph, ivars->as.complex.table);
    else
        graph_shape_variables(graph, rb_shape_get_shape_id(object), ivars->as.shape.ivptr,
                              ivars->as.shape.numiv);
}

/* ---- types ---- */

static const struct graph_form graph_array = {.tail = HEAPPROF_DUMP_INDEXED};
static const struct graph_form graph_shared = {.fields = {"shared"}};
static const struct graph_form graph_hash = {.tail = HEAPPROF_DUMP_PAIRED};
static const struct graph_form graph_hash_default = { .tail = HEAPPROF_DUMP_PAIRED,
                                                      .fields = { "default" } };
static const struct graph_form graph_hash_proc = { .tail = HEAPPROF_DUMP_PAIRED,
                                                   .fields = { "default proc" } };
static const struct graph_form graph_regexp = {.fields = {"source"}};
static const struct graph_form graph_match = {.fields = {"regexp", "string"}};
static const struct graph_form graph_rational = {.fields = {"numerator", "denominator"}};
static const struct graph_form graph_complex = {.fields = {"real", "imaginary"}};
static const struct graph_form graph_file = {
    .fields = { "self", "path", "tied io", "write converter", "write options", "options",
                "write lock", "timeout" },
};

/* Sets the form, with its fields in `held`. */
static void
graph_fields(struct graph_object *o, const struct graph_form *form, size_t count)
{
    o->form = form;
    o->fixed = o->held;
    o->fixed_count = count;
}

static void
graph_plain_object(struct heapprof_graph *graph, struct graph_object *o)
{
    if (rb_shape_obj_too_complex(o->object)) {
        graph_variables(graph, ROBJECT_IV_HASH(o->object));
        return;
    }
    o->form = &graph_ivars;
    o->detail = ROBJECT_SHAPE_ID(o->object);
    o->fixed = ROBJECT_IVPTR(o->object);
    o->fixed_count = ROBJECT_IV_COUNT(o->object);
}

static bool
graph_value(struct heapprof_graph *graph, VALUE value)
{
    if (!HEAPPROF_MEM_GROW(&graph->mem, graph->values, graph->values_capacity,
                           graph->value_count + 1)) {
        graph_failed(graph);
        return false;
    }
    graph->values[graph->value_count++] = value;
    return true;
}

static int
graph_pair_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct heapprof_graph *graph = (struct heapprof_graph *)data;

    return graph_value(graph, (VALUE)key) && graph_value(graph, (VALUE)value) ? ST_CONTINUE
                                                                              : ST_STOP;
}

static void
graph_pairs(struct heapprof_graph *graph, struct graph_object *o)
{
    VALUE otherwise = RHASH(o->object)->ifnone;

    rb_hash_stlike_foreach(o->object, graph_pair_i, (st_data_t)graph);
    o->tail = graph->values;
    o->tail_count = graph->value_count;
    o->form = &graph_hash;
    if (NIL_P(otherwise)) return;
    o->held[0] = otherwise;
    graph_fields(
        o, RB_FL_TEST_RAW(o->object, RHASH_PROC_DEFAULT) ? &graph_hash_proc : &graph_hash_default,
        1);
}

static void
graph_elements(struct graph_object *o)
{
    if (ARY_SHARED_P(o->object)) {
        o->held[0] = ARY_SHARED_ROOT(o->object);
        graph_fields(o, &graph_shared, 1);
        return;
    }
    o->form = &graph_array;
    o->tail = RARRAY_CONST_PTR(o->object);
    o->tail_count = (size_t)RARRAY_LEN(o->object);
}

static void
graph_io(struct graph_object *o)
{
    const struct rb_io *io = RFILE(o->object)->fptr;

    if (!io) return;
    const VALUE values[] = {
        io->self,
        io->pathv,
        io->tied_io_for_writing,
        io->writeconv_asciicompat,
        io->writeconv_pre_ecopts,
        io->encs.ecopts,
        io->write_lock,
        io->timeout,
    };
    for (size_t i = 0; i < numberof(values); i++) o->held[i] = values[i];
    graph_fields(o, &graph_file, numberof(values));
}

static void
graph_two(struct graph_object *o, const struct graph_form *form, VALUE one, VALUE two)
{
    o->held[0] = one;
    o->held[1] = two;
    graph_fields(o, form, 2);
}

static void
graph_simple(struct heapprof_graph *graph, struct graph_object *o)
{
    VALUE object = o->object;

    switch (RB_BUILTIN_TYPE(object)) {
      case T_OBJECT: graph_plain_object(graph, o); break;
      case T_ARRAY: graph_elements(o); break;
      case T_HASH: graph_pairs(graph, o); break;
      case T_STRING:
        if (!STR_SHARED_P(object)) break;
        o->held[0] = RSTRING(object)->as.heap.aux.shared;
        graph_fields(o, &graph_shared, 1);
        break;
      case T_STRUCT:
        o->form = &graph_struct;
        o->fixed = RSTRUCT_CONST_PTR(object);
        o->fixed_count = o->detail = (size_t)RSTRUCT_LEN(object);
        break;
      case T_REGEXP:
        o->held[0] = RREGEXP(object)->src;
        graph_fields(o, &graph_regexp, 1);
        break;
      case T_FILE: graph_io(o); break;
      case T_MATCH: graph_two(o, &graph_match, RMATCH(object)->regexp, RMATCH(object)->str); break;
      case T_RATIONAL:
        graph_two(o, &graph_rational, RRATIONAL(object)->num, RRATIONAL(object)->den);
        break;
      case T_COMPLEX:
        graph_two(o, &graph_complex, RCOMPLEX(object)->real, RCOMPLEX(object)->imag);
        break;
      default: break;
    }
}
