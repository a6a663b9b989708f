/* values.c - values, names and texts as the file has them. Compiled inside gc.c. */
#include "gc/graph/form.h"
#include "gc/interpreter.h"
#include "gc/book/state.h"

static void
graph_failed(struct heapprof_graph *graph)
{
    if (graph->writer.error == 0) graph->writer.error = ENOMEM;
}

static void
graph_forget_marked(struct heapprof_graph *graph)
{
    graph->marked_count = 0;
    rb_heapprof_index_clear(&graph->marked_index, &graph->mem, 0);
}

/* ---- strings of the file ---- */

static uint32_t
graph_text_of(struct heapprof_graph *graph, const char *text)
{
    return rb_heapprof_dump_string(&graph->writer, text, strlen(text));
}

static uint32_t
graph_profile_string(struct heapprof_graph *graph, uint32_t number)
{
    size_t length;
    const char *text = rb_heapprof_strings_get(&rb_heapprof.tables.strings, number, &length);

    return rb_heapprof_dump_string(&graph->writer, text, length);
}

/* Returns 0 if the ID has no name. */
static uint32_t
graph_id_name(struct heapprof_graph *graph, ID id)
{
    VALUE name = id ? rb_id2str(id) : 0;

    return name ? rb_heapprof_dump_string(&graph->writer, RSTRING_PTR(name), (size_t)RSTRING_LEN(name)) : 0;
}

/* The kind follows from the name. Variables that MRI keeps for itself have names that no
 * program can write. */
static enum heapprof_dump_label
graph_variable_kind(ID id)
{
    if (rb_is_instance_id(id)) return HEAPPROF_DUMP_IVAR;
    if (rb_is_class_id(id)) return HEAPPROF_DUMP_CVAR;
    return HEAPPROF_DUMP_FIELD;
}

/* ---- values that are not objects ---- */

/* Smaller numbers are shown even if values are hidden: they identify no person. */
#define GRAPH_SMALL 0x8000

static void
graph_put_fixnum(struct heapprof_graph *graph, long number)
{
    bool shown = graph->values_bytes != 0 || (-GRAPH_SMALL <= number && number < GRAPH_SMALL);
    uint64_t zigzag = rb_heapprof_dump_zigzag(number);

    if (!shown) {
        rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_HIDDEN, 0);
    }
    else if (zigzag >> 60 == 0) {
        rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_INTEGER, zigzag);
    }
    else {
        char text[24];
        snprintf(text, sizeof(text), "%ld", number);
        rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_FLOAT, graph_text_of(graph, text));
    }
}

static void
graph_put_flonum(struct heapprof_graph *graph, VALUE value)
{
    char text[32];

    if (graph->values_bytes == 0) {
        rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_HIDDEN, 1);
        return;
    }
    snprintf(text, sizeof(text), "%.17g", RFLOAT_VALUE(value));
    rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_FLOAT, graph_text_of(graph, text));
}

static void
graph_put_special(struct heapprof_graph *graph, VALUE value)
{
    uint64_t which = NIL_P(value) ? 0 : value == Qfalse ? 1 : value == Qtrue ? 2 : 3;

    rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_SPECIAL, which);
}

/* Writes one reference of the record that has begun. */
static void
graph_put(struct heapprof_graph *graph, VALUE value)
{
    if (!RB_SPECIAL_CONST_P(value)) {
        rb_heapprof_dump_reference(&graph->writer, value);
        return;
    }
    graph->writer.references++;
    if (RB_FIXNUM_P(value)) {
        graph_put_fixnum(graph, RB_FIX2LONG(value));
    }
    else if (RB_STATIC_SYM_P(value)) {
        rb_heapprof_dump_immediate(&graph->writer, HEAPPROF_DUMP_SYMBOL,
                                   graph_id_name(graph, RSHIFT((unsigned long)value, RUBY_SPECIAL_SHIFT)));
    }
    else if (RB_FLONUM_P(value)) {
        graph_put_flonum(graph, value);
    }
    else {
        graph_put_special(graph, value);
    }
}

/* ---- names of objects ---- */

/* The name of a class, or of the object that has this singleton class. */
static size_t
graph_class_text(VALUE klass, char text[HEAPPROF_NAME_BYTES])
{
    if (!RB_TYPE_P(klass, T_CLASS) || !RCLASS_SINGLETON_P(klass)) return rb_heapprof_class_text(klass, text);

    VALUE attached = RCLASS_ATTACHED_OBJECT(klass);
    char name[HEAPPROF_NAME_BYTES];
    bool of_class = !RB_SPECIAL_CONST_P(attached) && (RB_TYPE_P(attached, T_CLASS) || RB_TYPE_P(attached, T_MODULE));
    VALUE named = of_class ? attached : rb_heapprof_real_class(klass);
    size_t length = named ? rb_heapprof_class_text(named, name) : 0;
    int written = snprintf(text, HEAPPROF_NAME_BYTES, of_class ? "#<Class:%.*s>" : "#<Class:#<%.*s>>", (int)length, name);

    return written < HEAPPROF_NAME_BYTES ? (size_t)written : HEAPPROF_NAME_BYTES - 1;
}

static size_t
graph_code_text(const rb_iseq_t *iseq, char text[HEAPPROF_NAME_BYTES])
{
    if (!iseq->body || !iseq->body->location.label) return 0;

    size_t length = rb_heapprof_code_text(iseq, 0, text), room = HEAPPROF_NAME_BYTES - length;
    VALUE path = rb_iseq_path(iseq);
    int written = snprintf(text + length, room, " %.*s:%d", (int)RSTRING_LEN(path), RSTRING_PTR(path),
                           iseq->body->location.first_lineno);

    return length + ((size_t)written < room ? (size_t)written : room - 1);
}

static size_t
graph_imemo_text(VALUE object, char text[HEAPPROF_NAME_BYTES])
{
    switch (imemo_type(object)) {
      case imemo_iseq: return graph_code_text((const rb_iseq_t *)object, text);
      case imemo_ment:
        if (RB_SPECIAL_CONST_P(((const rb_method_entry_t *)object)->owner)) return 0; /* an undefined method */
        return rb_heapprof_method_text((const rb_method_entry_t *)object, text);
      default: return 0;
    }
}

/* The name of the object as a string of the file. Returns 0 if it has none. */
static uint32_t
graph_object_text(struct heapprof_graph *graph, VALUE object)
{
    char text[HEAPPROF_NAME_BYTES];
    size_t length = 0;

    switch (RB_BUILTIN_TYPE(object)) {
      case T_CLASS:
      case T_MODULE: length = graph_class_text(object, text); break;
      case T_ICLASS: if (RBASIC_CLASS(object)) length = graph_class_text(RBASIC_CLASS(object), text); break;
      case T_IMEMO: length = graph_imemo_text(object, text); break;
      case T_SYMBOL: if (graph->values_bytes) return graph_id_name(graph, RSYMBOL(object)->id); break;
      case T_FLOAT:
        if (graph->values_bytes) length = (size_t)snprintf(text, sizeof(text), "%.17g", RFLOAT_VALUE(object));
        break;
      default: return 0;
    }
    return rb_heapprof_dump_string(&graph->writer, text, length);
}
