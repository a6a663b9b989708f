/* data.c - what the VM's own objects and those of extensions refer to. Compiled inside gc.c. */
#include "gc/graph/form.h"
#include "gc/book/mri.h"

/* No page of a system is smaller. */
#define GRAPH_PAGE_BYTES 4096

/* ---- inside the VM ---- */

static void
graph_cref(struct heapprof_graph *graph, const rb_cref_t *cref)
{
    graph_field(graph, "class", cref->klass_or_self);
    graph_field(graph, "next", (VALUE)cref->next);
    graph_field(graph, "refinements", cref->refinements);
}

static void
graph_svar(struct heapprof_graph *graph, const struct vm_svar *svar)
{
    graph_field(graph, "scope", (VALUE)svar->cref_or_me);
    graph_field(graph, "last line", svar->lastline);
    graph_field(graph, "last match", svar->backref);
    graph_field(graph, "others", svar->others);
}

static void
graph_method_entry(struct heapprof_graph *graph, const rb_method_entry_t *method)
{
    const rb_method_definition_t *definition = method->def;

    graph_field(graph, "itself", (VALUE)method); /* it marks itself to be pinned */
    graph_field(graph, "owner", method->owner);
    graph_field(graph, "defined class", method->defined_class);
    if (!definition) return;
    switch (definition->type) {
      case VM_METHOD_TYPE_ISEQ:
        graph_field(graph, "code", (VALUE)definition->body.iseq.iseqptr);
        graph_field(graph, "scope", (VALUE)definition->body.iseq.cref);
        break;
      case VM_METHOD_TYPE_ATTRSET:
      case VM_METHOD_TYPE_IVAR:
        graph_field(graph, "location", definition->body.attr.location);
        break;
      case VM_METHOD_TYPE_BMETHOD:
        graph_field(graph, "block", definition->body.bmethod.proc);
        break;
      case VM_METHOD_TYPE_ALIAS:
        graph_field(graph, "original", (VALUE)definition->body.alias.original_me);
        break;
      case VM_METHOD_TYPE_REFINED:
        graph_field(graph, "original", (VALUE)definition->body.refined.orig_me);
        break;
      default: break;
    }
}

/* Names what an imemo may refer to. Marking tells which of these count. */
static void
graph_imemo_names(struct heapprof_graph *graph, VALUE object)
{
    switch (imemo_type(object)) {
      case imemo_cref: graph_cref(graph, (const rb_cref_t *)object); break;
      case imemo_svar: graph_svar(graph, (const struct vm_svar *)object); break;
      case imemo_ment: graph_method_entry(graph, (const rb_method_entry_t *)object); break;
      case imemo_env: graph_environment(graph, (const rb_env_t *)object); break;
      case imemo_iseq: graph_code(graph, (const rb_iseq_t *)object); break;
      case imemo_throw_data:
        graph_field(graph, "thrown", ((const struct vm_throw_data *)object)->throw_obj);
        break;
      case imemo_ifunc:
        graph_field(graph, "data", (VALUE)((const struct vm_ifunc *)object)->data);
        break;
      case imemo_constcache:
        graph_field(graph, "value",
                    ((const struct iseq_inline_constant_cache_entry *)object)->value);
        break;
      default: break;
    }
}

static void
graph_imemo(struct heapprof_graph *graph, struct graph_object *o)
{
    graph_ask_marking(graph, o->object);
    graph_imemo_names(graph, o->object);
    graph_name_marked(graph);
}

/* ---- extensions, and classes that are written like one ---- */

static bool
graph_declared_p(VALUE object)
{
    return RTYPEDDATA_P(object) && RTYPEDDATA_TYPE(object)->flags & RUBY_TYPED_DECL_MARKING;
}

/* The references at the offsets that the type declares. */
static void
graph_declared_data(struct heapprof_graph *graph, struct graph_object *o)
{
    const char *data = RTYPEDDATA_GET_DATA(o->object);
    const size_t *offsets = (const size_t *)(uintptr_t)RTYPEDDATA_TYPE(o->object)->function.dmark;

    if (!data) return;
    for (; *offsets != RUBY_REF_END; offsets++) {
        graph_value(graph, *(const VALUE *)(data + *offsets));
    }
    o->form = &graph_declared;
    o->fixed = graph->values;
    o->fixed_count = graph->value_count;
}

/* How many bytes of the struct may be looked at. That is the size that the object says, up to the
 * end of the page where the struct begins. A struct of MRI's goes to the last field that has a
 * name, on any page. */
static size_t
graph_struct_bytes(VALUE object, const void *data)
{
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
    size_t on_page = GRAPH_PAGE_BYTES - (uintptr_t)data % GRAPH_PAGE_BYTES;

    if (RTYPEDDATA_EMBEDDED_P(object))
        return (uintptr_t)object + rb_gc_obj_slot_size(object) - (uintptr_t)data;
    size_t bytes = type->function.dsize ? type->function.dsize(data) : 0;
    if (bytes > on_page) bytes = on_page;
    size_t known = rb_heapprof_fields_bytes(type);
    return known > bytes ? known : bytes;
}

/* Names each marked reference by its place in the struct. */
static void
graph_name_words(struct heapprof_graph *graph, VALUE object)
{
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);

    for (size_t i = 0; i < graph->word_count; i++) {
        VALUE word = graph->words[i];
        if (RB_SPECIAL_CONST_P(word) || !graph_find_marked(graph, word)) continue;
        struct heapprof_dump_name name = graph_offset_name(graph, type, i * sizeof(word));
        graph_edge(graph, name.kind, name.name, word);
    }
}

static void
graph_read_words(struct heapprof_graph *graph, VALUE object)
{
    const VALUE *data = RTYPEDDATA_GET_DATA(object);
    size_t words = data ? graph_struct_bytes(object, data) / sizeof(*data) : 0;

    if (words > HEAPPROF_GRAPH_WORDS) words = HEAPPROF_GRAPH_WORDS;
    memcpy(graph->words, data, words * sizeof(*data));
    graph->word_count = words;
}

/* What all references of MRI's own lists are called. Returns NULL for an object of another type. */
static const char *
graph_element_name(VALUE object)
{
    static const struct { const char *type, *name; } lists[] = {
        {"VM/pin_array_list", "registered by C code"}, /* by rb_gc_register_mark_object */
        {"autoload_table", "autoload"}, {"backtrace", "frame"},
    };
    const char *type = RTYPEDDATA_P(object) ? RTYPEDDATA_TYPE(object)->wrap_struct_name : "";

    for (size_t i = 0; i < numberof(lists); i++) {
        if (strcmp(type, lists[i].type) == 0) return lists[i].name;
    }
    return NULL;
}

/* Names the marked references that have no name so far. */
static void
graph_name_rest(struct heapprof_graph *graph, enum heapprof_dump_label kind, uint32_t name)
{
    for (size_t i = 0; i < graph->edge_count; i++) {
        struct heapprof_graph_edge *edge = &graph->edges[i];
        if (edge->kind == HEAPPROF_DUMP_UNLABELLED)
            *edge = (struct heapprof_graph_edge){ edge->value, kind, name };
    }
}

static void
graph_name_data(struct heapprof_graph *graph, VALUE object)
{
    if (!RTYPEDDATA_P(object) || graph->marked_count == 0 || graph_own_data(graph, object)) return;
    graph->word_count = 0;
    if (graph_find_marked(graph, ruby_global_symbols.ids) ||
        graph_find_marked(graph, ruby_global_symbols.dsymbol_fstr_hash)) {
        graph_field(graph, "symbol table", ruby_global_symbols.ids);
        graph_field(graph, "symbol table, made at run time", ruby_global_symbols.dsymbol_fstr_hash);
    }
    if (graph_call(graph, object, graph_read_words)) graph_name_words(graph, object);
}

static void
graph_data(struct heapprof_graph *graph, struct graph_object *o)
{
    const char *element = graph_element_name(o->object);

    graph_generic_ivars(graph, o->object); /* marking tells of these, too */
    if (graph_declared_p(o->object)) {
        graph_declared_data(graph, o);
        return;
    }
    if (!graph_call(graph, o->object, graph_ask_marking)) return;
    graph_weak_references(graph, o->object);
    graph_mutex_owner(graph, o->object);
    graph_name_data(graph, o->object);
    graph_name_marked(graph);
    if (graph_has_stack_p(o->object))
        graph_name_rest(graph, HEAPPROF_DUMP_STACK, graph_text_of(graph, "stack"));
    if (element) graph_name_rest(graph, HEAPPROF_DUMP_FIELD, graph_text_of(graph, element));
}
