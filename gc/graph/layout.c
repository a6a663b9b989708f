/* layout.c - what objects have in common: type, class, and the names of their references. A
 * layout is a printed form; records only fill it in. Compiled inside gc.c.
 *
 * An Object has the ivars of its shape, a Struct has the members of its class, and an
 * extension's object has references at the offsets that its type declares. Each of these is a
 * layout, whose labels are looked up once.
 */
#include "gc/graph/form.h"
#include "gc/interpreter.h"
#include "shape.h"

STATIC_ASSERT(shapes_are_of_these_types, SHAPE_ROOT == 0 && SHAPE_IVAR == 1 && SHAPE_FROZEN == 2 &&
                                             SHAPE_T_OBJECT == 3 && SHAPE_OBJ_TOO_COMPLEX == 4);

/* ---- labels ---- */

static void
graph_label(struct heapprof_graph *graph, size_t i, enum heapprof_dump_label kind, uint32_t name)
{
    if (HEAPPROF_MEM_GROW(&graph->mem, graph->labels, graph->labels_capacity, i + 1)) {
        graph->labels[i] = (struct heapprof_dump_name){kind, name};
    }
    else {
        graph_failed(graph);
    }
}

HEAPPROF_COLD static void
graph_label_ivars(struct heapprof_graph *graph, const struct graph_object *o)
{
    for (rb_shape_t *shape = rb_shape_get_shape_by_id((shape_id_t)o->detail); shape;
         shape = shape->parent_id == INVALID_SHAPE_ID
                     ? NULL
                     : rb_shape_get_shape_by_id(shape->parent_id)) {
        if (shape->type != SHAPE_IVAR) continue;
        graph_label(graph, shape->next_iv_index - 1, graph_variable_kind(shape->edge_name),
                    graph_variable_name(graph, shape->edge_name));
    }
}

/* Returns nil if the class has no members yet. */
HEAPPROF_COLD static VALUE
graph_members(VALUE klass)
{
    ID members = rb_intern("__members__"); /* struct.c has made this ID */

    for (; klass; klass = RCLASS_SUPER(klass)) {
        VALUE found = RB_TYPE_P(klass, T_CLASS) ? rb_ivar_lookup(klass, members, Qnil) : Qnil;
        if (RB_TYPE_P(found, T_ARRAY)) return found;
    }
    return Qnil;
}

HEAPPROF_COLD static void
graph_label_members(struct heapprof_graph *graph, const struct graph_object *o)
{
    VALUE members = graph_members(RBASIC_CLASS(o->object));

    for (size_t i = 0; i < o->fixed_count; i++) {
        VALUE name =
            !NIL_P(members) && (long)i < RARRAY_LEN(members) ? RARRAY_AREF(members, (long)i) : Qnil;
        graph_label(graph, i, HEAPPROF_DUMP_MEMBER,
                    RB_SYMBOL_P(name) ? graph_id_name(graph, RB_SYM2ID(name)) : 0);
    }
}

/* Of MRI's own structures, "receiver"; else "type+0x18". */
static struct heapprof_dump_name
graph_offset_name(struct heapprof_graph *graph, const rb_data_type_t *type, size_t offset)
{
    const char *known = rb_heapprof_field_name(type, offset);
    char name[128];

    if (known) return (struct heapprof_dump_name){HEAPPROF_DUMP_FIELD, graph_text_of(graph, known)};
    snprintf(name, sizeof(name), "%.100s+%#zx", type->wrap_struct_name, offset);
    return (struct heapprof_dump_name){HEAPPROF_DUMP_OFFSET, graph_text_of(graph, name)};
}

HEAPPROF_COLD static void
graph_label_offsets(struct heapprof_graph *graph, const struct graph_object *o)
{
    const rb_data_type_t *type = RTYPEDDATA_TYPE(o->object);
    const size_t *offsets = (const size_t *)(uintptr_t)type->function.dmark;

    for (size_t i = 0; i < o->fixed_count; i++) {
        struct heapprof_dump_name name = graph_offset_name(graph, type, offsets[i]);
        graph_label(graph, i, name.kind, name.name);
    }
}

HEAPPROF_COLD static void
graph_label_all(struct heapprof_graph *graph, const struct graph_object *o)
{
    for (size_t i = 0; i < o->fixed_count; i++) graph_label(graph, i, HEAPPROF_DUMP_UNLABELLED, 0);
    if (o->form->label) {
        o->form->label(graph, o);
        return;
    }
    for (size_t i = 0; i < o->fixed_count; i++) {
        graph_label(graph, i, HEAPPROF_DUMP_FIELD, graph_text_of(graph, o->form->fields[i]));
    }
}

static const struct graph_form graph_nothing = {HEAPPROF_DUMP_NO_TAIL, {NULL}, NULL};
static const struct graph_form graph_ivars = {.label = graph_label_ivars};
static const struct graph_form graph_struct = {.label = graph_label_members};
static const struct graph_form graph_declared = {.label = graph_label_offsets};

/* ---- layouts ---- */

static const char *
graph_builtin_name(enum ruby_value_type type)
{
    switch (type) {
#define GRAPH_TYPE(type) case type: return #type
        GRAPH_TYPE(T_OBJECT);
        GRAPH_TYPE(T_CLASS);
        GRAPH_TYPE(T_MODULE);
        GRAPH_TYPE(T_FLOAT);
        GRAPH_TYPE(T_STRING);
        GRAPH_TYPE(T_REGEXP);
        GRAPH_TYPE(T_ARRAY);
        GRAPH_TYPE(T_HASH);
        GRAPH_TYPE(T_STRUCT);
        GRAPH_TYPE(T_BIGNUM);
        GRAPH_TYPE(T_FILE);
        GRAPH_TYPE(T_DATA);
        GRAPH_TYPE(T_MATCH);
        GRAPH_TYPE(T_COMPLEX);
        GRAPH_TYPE(T_RATIONAL);
        GRAPH_TYPE(T_SYMBOL);
        GRAPH_TYPE(T_IMEMO);
        GRAPH_TYPE(T_NODE);
        GRAPH_TYPE(T_ICLASS);
#undef GRAPH_TYPE
      default: return "?";
    }
}

#define GRAPH_TYPE_BYTES 128

/* The type, together with the type inside the VM, or of an extension. */
HEAPPROF_COLD static void
graph_type_text(VALUE object, char text[GRAPH_TYPE_BYTES])
{
    const char *name = graph_builtin_name(RB_BUILTIN_TYPE(object)), *inside = NULL;

    if (RB_TYPE_P(object, T_IMEMO)) inside = rb_imemo_name(imemo_type(object));
    if (RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object))
        inside = RTYPEDDATA_TYPE(object)->wrap_struct_name;
    if (!inside) snprintf(text, GRAPH_TYPE_BYTES, "%s", name);
    else
        snprintf(text, GRAPH_TYPE_BYTES, "%s(%.100s)", name,
                 strncmp(inside, "imemo_", 6) == 0 ? inside + 6 : inside);
}

HEAPPROF_COLD static uint32_t
graph_type_name(struct heapprof_graph *graph, VALUE object)
{
    char text[GRAPH_TYPE_BYTES];

    graph_type_text(object, text);
    return graph_text_of(graph, text);
}

/* An iclass, which stands for an included module, refers to the module as to a class but is no
 * instance of it. */
HEAPPROF_COLD static uint32_t
graph_class_name(struct heapprof_graph *graph, VALUE object, VALUE klass)
{
    char text[HEAPPROF_NAME_BYTES];
    VALUE named = klass && !RB_TYPE_P(object, T_ICLASS) ? rb_heapprof_real_class(object) : 0;

    return named
               ? rb_heapprof_dump_string(&graph->writer, text, rb_heapprof_class_text(named, text))
               : 0;
}

static uint64_t
graph_layout_hash(const struct heapprof_graph_layout *layout)
{
    return rb_heapprof_index_hash(layout->klass ^ rb_heapprof_index_hash(
               layout->detail ^ (uintptr_t)layout->form ^ (uint64_t)layout->kind << 40));
}

static uint64_t
graph_layout_hash_i(const void *owner, uint32_t number)
{
    return graph_layout_hash(&((const struct heapprof_graph *)owner)->layouts[number]);
}

static bool
graph_same_layout_p(const struct heapprof_graph_layout *one,
                    const struct heapprof_graph_layout *other)
{
    return one->klass == other->klass && one->detail == other->detail && one->form == other->form &&
           one->kind == other->kind;
}

#define GRAPH_OTHERS (1u << 16)

static struct heapprof_graph_layout
graph_layout_key(const struct heapprof_graph *graph, const struct graph_object *o)
{
    struct heapprof_graph_layout key = { .detail = o->detail,
                                         .form = o->form,
                                         .kind = RB_BUILTIN_TYPE(o->object) };

    if (RB_TYPE_P(o->object, T_IMEMO)) key.kind |= (uint32_t)imemo_type(o->object) << 8;
    else key.klass = RBASIC_CLASS(o->object);
    if (RB_TYPE_P(o->object, T_DATA) && RTYPEDDATA_P(o->object))
        key.detail = (uintptr_t)RTYPEDDATA_TYPE(o->object);
    if (graph->edge_count > 0) key.kind |= GRAPH_OTHERS;
    return key;
}

HEAPPROF_COLD static uint32_t
graph_new_layout(struct heapprof_graph *graph, const struct graph_object *o,
                 struct heapprof_graph_layout *key)
{
    uint32_t at = (uint32_t)graph->layout_count + 1;

    if (!HEAPPROF_MEM_GROW(&graph->mem, graph->layouts, graph->layouts_capacity, at + 1) ||
        !rb_heapprof_index_reserve(&graph->layout_index, &graph->mem, graph->layout_count,
                                   graph_layout_hash_i, graph)) {
        graph_failed(graph);
        return 0;
    }
    graph_label_all(graph, o);
    key->number = rb_heapprof_dump_layout(
        &graph->writer, &(struct heapprof_dump_layout){
                            .type = graph_type_name(graph, o->object),
                            .class_name = graph_class_name(graph, o->object, key->klass),
                            .class_address = key->klass,
                            .tail = o->form->tail,
                            .bits = key->kind & GRAPH_OTHERS ? HEAPPROF_DUMP_OTHERS : 0,
                            .labels = graph->labels,
                            .label_count = o->fixed_count,
                        });
    graph->layouts[at] = *key;
    graph->layout_count++;
    rb_heapprof_index_insert(&graph->layout_index, graph_layout_hash(key), at);
    return key->number;
}

/* The number of the layout in the file. */
static uint32_t
graph_layout(struct heapprof_graph *graph, const struct graph_object *o)
{
    struct heapprof_graph_layout key = graph_layout_key(graph, o);
    uint32_t at;

    for (uint64_t probe = graph_layout_hash(&key);
         (at = rb_heapprof_index_at(&graph->layout_index, probe)) != 0; probe++) {
        if (graph_same_layout_p(&graph->layouts[at], &key)) return graph->layouts[at].number;
    }
    return graph_new_layout(graph, o, &key);
}
