/* graph.c - the graph of all objects: a census of the heap, one form for each inhabitant.
 * Compiled inside gc.c.
 *
 *     object --> what it refers to, with labels (types.c, class.c, data.c)
 *            --> its layout (layout.c)
 *            --> a record (dump/writer.h)
 *
 * An object refers to what MRI marks. Nothing more or less is written:
 *
 *   I1  the fields of simple types, and of classes, are read here as rb_gc_mark_children reads
 *       them.
 *   I2  for all other types marking functions are asked, and what is known of the type only
 *       gives names. What is marked without a name is UNLABELLED. What has a name and is not
 *       marked is left out. WEAK references are an exception: they are only told (weak.c).
 *
 * Marking functions may write to what they go through. They free void call caches of classes,
 * so classes are read here. They also forget those of code.
 */
#include "gc/graph/form.h"
#include "gc/book/state.h"
#include "gc/book/walk.h"
#include "profiler/label_sets.h"

/* ---- facts about an object ---- */

HEAPPROF_COLD static uint32_t
graph_stack(struct heapprof_graph *graph, uint32_t stack)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;
    size_t count = 0;
    uint32_t number = 0;

    if (!HEAPPROF_MEM_GROW(&graph->mem, graph->stacks, graph->stacks_capacity,
                           tables->stacks.numbers.end))
        return 0;
    for (; stack && !(number = graph->stacks[stack]); stack = tables->stacks.nodes[stack].parent) {
        if (!HEAPPROF_MEM_GROW(&graph->mem, graph->path, graph->path_capacity, count + 1)) return 0;
        graph->path[count++] = stack;
    }
    while (count-- > 0) {
        const struct heapprof_stack_node *node = &tables->stacks.nodes[graph->path[count]];
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&tables->functions, node->function);
        number = rb_heapprof_dump_stack(&graph->writer, number,
                                        graph_profile_string(graph, function->name),
                                        graph_profile_string(graph, function->path), node->line);
        graph->stacks[graph->path[count]] = number;
    }
    return number;
}

/* The string of labels with another character at the end of each key and value. */
HEAPPROF_COLD static uint32_t
graph_doing(struct heapprof_graph *graph, uint32_t label)
{
    char text[HEAPPROF_LABEL_TEXT_BYTES];
    size_t length;
    const char *labels = rb_heapprof_strings_get(&rb_heapprof.tables.strings, label, &length);

    for (size_t i = 0; i < length; i++) {
        text[i] = labels[i] == HEAPPROF_DUMP_DOING_END ? ' '
                  : labels[i] == '\0'                  ? HEAPPROF_DUMP_DOING_END
                                                       : labels[i];
    }
    return rb_heapprof_dump_string(&graph->writer, text, length);
}

static void
graph_sample(struct heapprof_graph *graph, struct heapprof_dump_object *object)
{
    const struct heapprof_live_table *live = &rb_heapprof.tables.live;
    uint32_t entry = rb_heapprof_address_table_find(&live->addresses, object->address);

    if (!entry) return;
    const struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
    object->bits |= HEAPPROF_DUMP_SAMPLED;
    const struct heapprof_site *site = &rb_heapprof.tables.sites.all[sample->site];
    object->stack = graph_stack(graph, site->stack);
    if (site->label) {
        object->bits |= HEAPPROF_DUMP_DOING;
        object->doing = graph_doing(graph, site->label);
    }
    object->weight = (uint64_t)((double)sample->weight * 1000 + 0.5);
}

static unsigned int
graph_bits(VALUE object)
{
    unsigned int bits = (unsigned int)RVALUE_AGE_GET(object) & HEAPPROF_DUMP_AGE;

    if (RB_TYPE_P(object, T_IMEMO)) return bits;
    if (RB_FL_TEST_RAW(object, FL_FREEZE)) bits |= HEAPPROF_DUMP_FROZEN;
    if (RB_FL_TEST_RAW(object, FL_SHAREABLE)) bits |= HEAPPROF_DUMP_SHAREABLE;
    if (RB_FL_TEST_RAW(object, FL_FINALIZE)) bits |= HEAPPROF_DUMP_FINALIZER;
    return bits;
}

static void
graph_string(struct heapprof_graph *graph, VALUE string, struct heapprof_dump_object *object)
{
    size_t length = (size_t)RSTRING_LEN(string);

    object->bits |= HEAPPROF_DUMP_LENGTH | HEAPPROF_DUMP_HASHED;
    object->length = length;
    object->hash = (uint64_t)rb_memhash(RSTRING_PTR(string), (long)length);
    if (graph->values_bytes == 0) return;
    if (length > graph->values_bytes) length = graph->values_bytes;
    object->text = rb_heapprof_dump_string(&graph->writer, RSTRING_PTR(string), length);
    object->bits |= HEAPPROF_DUMP_TEXT;
}

/* An Array that shares its elements has none in its record. */
static void
graph_shared_length(VALUE array, struct heapprof_dump_object *object)
{
    object->bits |= HEAPPROF_DUMP_LENGTH;
    object->length = (uint64_t)RARRAY_LEN(array);
}

static void
graph_ask_memsize(struct heapprof_graph *graph, VALUE object)
{
    graph->memsize = rb_obj_memsize_of(object);
}

static void
graph_facts(struct heapprof_graph *graph, VALUE object, size_t slot_bytes,
            struct heapprof_dump_object *record)
{
    graph->memsize = slot_bytes;
    graph_call(graph, object, graph_ask_memsize);
    size_t external_bytes = graph->memsize - slot_bytes - graph_untouched_bytes(object);

    record->bits |= graph_bits(object);
    if (graph_survivor_p(graph->plane, object)) record->bits |= HEAPPROF_DUMP_SURVIVOR;
    if (external_bytes) {
        record->bits |= HEAPPROF_DUMP_EXTERNAL;
        record->external_bytes = external_bytes;
    }
    if (RB_TYPE_P(object, T_STRING)) {
        graph_string(graph, object, record);
    }
    else if ((record->text = graph_object_text(graph, object)) != 0) {
        record->bits |= HEAPPROF_DUMP_TEXT;
    }
    if (RB_TYPE_P(object, T_ARRAY) && ARY_SHARED_P(object)) graph_shared_length(object, record);
    if (rb_heapprof_on) graph_sample(graph, record);
}

/* ---- records ---- */

/* Writes as much of the tail and the edges as goes into one record. */
static void
graph_write_rest(struct heapprof_graph *graph, const struct graph_object *o, size_t *tail,
                 size_t *edges)
{
    struct heapprof_dump_writer *writer = &graph->writer;
    bool pairs = o->form->tail == HEAPPROF_DUMP_PAIRED;

    if (o->form->tail != HEAPPROF_DUMP_NO_TAIL) {
        size_t end = *tail + HEAPPROF_DUMP_REFERENCES_MOST < o->tail_count
                         ? *tail + HEAPPROF_DUMP_REFERENCES_MOST
                         : o->tail_count;
        rb_heapprof_dump_count(writer, pairs ? (end - *tail) / 2 : end - *tail);
        for (; *tail < end; ++*tail) graph_put(graph, o->tail[*tail]);
    }
    if (graph->edge_count > 0) {
        size_t left = graph->edge_count - *edges;
        if (left > HEAPPROF_DUMP_REFERENCES_MOST) left = HEAPPROF_DUMP_REFERENCES_MOST;
        rb_heapprof_dump_count(writer, left);
        for (; left > 0; left--, ++*edges) {
            const struct heapprof_graph_edge *edge = &graph->edges[*edges];
            rb_heapprof_dump_other(writer, (struct heapprof_dump_name){edge->kind, edge->name});
            graph_put(graph, edge->value);
        }
    }
}

static void
graph_write(struct heapprof_graph *graph, const struct graph_object *o,
            struct heapprof_dump_object *record)
{
    size_t tail = 0, edges = 0;

    rb_heapprof_dump_object(&graph->writer, record);
    for (size_t i = 0; i < o->fixed_count; i++) graph_put(graph, o->fixed[i]);
    graph_write_rest(graph, o, &tail, &edges);
    record->bits = HEAPPROF_DUMP_MORE;
    while (tail < o->tail_count || edges < graph->edge_count) {
        rb_heapprof_dump_object(&graph->writer, record);
        graph_write_rest(graph, o, &tail, &edges);
    }
}

/* Finds what the object refers to. */
static void
graph_read(struct heapprof_graph *graph, struct graph_object *o)
{
    graph->edge_count = graph->value_count = 0;
    switch (RB_BUILTIN_TYPE(o->object)) {
      case T_CLASS:
      case T_MODULE:
      case T_ICLASS: graph_class(graph, o); break;
      case T_IMEMO: graph_imemo(graph, o); return;
      case T_DATA: graph_data(graph, o); return;
      default: graph_simple(graph, o);
    }
    graph_generic_ivars(graph, o->object);
}

static void
graph_object_i(VALUE object, size_t slot_bytes, void *data)
{
    struct heapprof_graph *graph = data;
    struct graph_object o = {.object = object, .form = &graph_nothing};
    struct heapprof_dump_object record = {.address = object};

    if (RB_TYPE_P(object, T_MOVED) || RB_TYPE_P(object, T_ZOMBIE) || graph->writer.error != 0)
        return;
    graph_read(graph, &o);
    graph_check(graph, &o);
    record.layout = graph_layout(graph, &o);
    graph_facts(graph, object, slot_bytes, &record);
    graph_write(graph, &o, &record);
}

static void
graph_page_i(const struct heap_page *page, void *data)
{
    struct heapprof_graph *graph = data;

    graph->plane = graph->baseline ? graph_plane(page->body) : NULL;
    rb_heapprof_dump_page(&graph->writer, page->start, (uint32_t)page->slot_size);
    walk_page(page, graph_object_i, graph);
    rb_heapprof_dump_end_page(&graph->writer);
}

HEAPPROF_COLD void
rb_heapprof_gc_graph_write(struct heapprof_graph *graph)
{
    graph_roots(graph);
    walk_pages(graph_page_i, graph);
    graph_write_moves(graph);
    graph_write_skipped(graph);
}

HEAPPROF_COLD void
rb_heapprof_gc_graph_free(struct heapprof_graph *graph)
{
    rb_heapprof_index_release(&graph->layout_index, &graph->mem);
    rb_heapprof_index_release(&graph->marked_index, &graph->mem);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->layouts, graph->layouts_capacity);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->labels, graph->labels_capacity);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->values, graph->values_capacity);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->edges, graph->edges_capacity);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->marked, graph->marked_capacity);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->stacks, graph->stacks_capacity);
    HEAPPROF_MEM_RELEASE(&graph->mem, graph->path, graph->path_capacity);
}

/* ---- for vm/ ---- */

HEAPPROF_COLD bool
rb_heapprof_gc_begin_still(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    bool before = dont_gc_val();

    dont_gc_on();
    return before;
}

HEAPPROF_COLD void
rb_heapprof_gc_end_still(bool before)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    dont_gc_set(before);
}

HEAPPROF_COLD uint64_t
rb_heapprof_gc_count(void)
{
    return gc_count_now();
}
