/* values.c - values and strings as the file has them. Compiled inside gc.c. */
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

    return name ? rb_heapprof_dump_string(&graph->writer, RSTRING_PTR(name),
                                          (size_t)RSTRING_LEN(name))
                : 0;
}

/* The name of a variable. MRI has some for itself whose IDs have no name. */
static uint32_t
graph_variable_name(struct heapprof_graph *graph, ID id)
{
    uint32_t name = graph_id_name(graph, id);
    const char *hidden = name ? NULL : rb_heapprof_hidden_variable_name(id);

    return name ? name : graph_text_of(graph, hidden ? hidden : "variable without a name");
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
        rb_heapprof_dump_immediate(
            &graph->writer, HEAPPROF_DUMP_SYMBOL,
            graph_id_name(graph, RSHIFT((unsigned long)value, RUBY_SPECIAL_SHIFT)));
    }
    else if (RB_FLONUM_P(value)) {
        graph_put_flonum(graph, value);
    }
    else {
        graph_put_special(graph, value);
    }
}
