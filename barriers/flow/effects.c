/* effects.c - what a function does that known.c names. */
#include "barriers/flow/call.h"

#include "barriers/flow/blocks.h"
#include "barriers/flow/globals.h"

struct wb_symbol *
wb_conjured(const struct wb_call *call, enum wb_symbol_kind kind)
{
    return wb_symbol(&call->frame->flow->symbols, kind, call->node, NULL, 0);
}

struct wb_symbol *
wb_argument(const struct wb_call *call, unsigned number)
{
    return number < call->count ? call->arguments[number] : wb_conjured(call, WB_S_UNKNOWN);
}

const struct wb_node *
wb_argument_node(const struct wb_call *call, unsigned number)
{
    return number < call->count ? call->nodes[number] : NULL;
}

/* The rb_data_type_t that an argument points to. Returns NULL if it is not known. */
static struct wb_data_type *
data_type_argument(const struct wb_call *call, unsigned number)
{
    const struct wb_symbol *symbol = wb_argument(call, number);

    return symbol->kind == WB_S_GLOBAL ? ((const struct wb_variable *)symbol->what)->data_type :
           NULL;
}

static struct wb_symbol *
visit_checked_data(const struct wb_call *call)
{
    struct wb_symbol *data = wb_data_of(call->frame, call->state, wb_argument(call, 0));
    struct wb_data_type *data_type = data_type_argument(call, 1);

    if (data_type && !data->data_type && data->kind != WB_S_CONSTANT) data->data_type = data_type;
    return data;
}

/* A new object of that type. data: NULL for memory of its own. */
static struct wb_symbol *
new_object(const struct wb_call *call, struct wb_data_type *data_type, struct wb_symbol *data)
{
    struct wb_flow *flow = call->frame->flow;
    struct wb_symbol *object = wb_conjured(call, WB_S_FRESH);

    object->data_type = data_type;
    wb_add_fresh(flow->arena, call->state, object);
    if (data && data->kind != WB_S_CONSTANT) {
        if (data->kind != WB_S_PARAMETER && !data->data_type) data->data_type = data_type;
        wb_replace_data(call->frame, call->state, object, data, NULL, call->node);
    }
    else wb_symbol(&flow->symbols, WB_S_DATA, NULL, object, 0)->data_type = data_type;
    return object;
}

static struct wb_symbol *
visit_wrap(const struct wb_call *call)
{
    struct wb_data_type *data_type = data_type_argument(call, 2);
    const struct wb_node *data = wb_argument_node(call, 1);

    if (data_type && data && data->type && wb_pointed(data->type)) {
        wb_add_owner(call->frame->flow->program, wb_pointed(data->type), data_type, true);
    }
    if (!data_type) {
        wb_note_untyped(wb_argument(call, 1), data, wb_argument_node(call, 2));
    }
    return new_object(call, data_type, wb_argument(call, 1));
}

static struct wb_symbol *
visit_make(const struct wb_call *call)
{
    struct wb_symbol *object = new_object(call, data_type_argument(call, 1), NULL);
    struct wb_symbol *data = wb_data_of(call->frame, call->state, object);

    if (wb_argument_node(call, 2) && wb_argument_node(call, 2)->child) {
        wb_learn_owner(call->frame, data, wb_argument_node(call, 2)->child->type);
    }
    wb_bind(call->frame->flow->arena, call->state, wb_argument(call, 2), data);
    return object;
}

const struct wb_type *
wb_addressed_type(const struct wb_node *node)
{
    if (!node) return NULL;
    if (node->kind == WB_ADDRESS) return node->child ? node->child->type : NULL;
    return node->type && node->type->kind == WB_ARRAY ? node->type : NULL;
}

/* The same for any pointer, and whether it is the address of a single thing. */
static const struct wb_type *
pointed_type(const struct wb_node *node, bool *single)
{
    const struct wb_type *type = wb_addressed_type(node);

    *single = node && node->kind == WB_ADDRESS && node->child;
    return type || !node || !node->type ? type : node->type->to;
}

/* memcpy and the like copy things of the type that the first argument points to; where that is a
 * char *, VALUEs if the second one points to such. A pointer to a VALUE that is no address of a
 * single one points to an array of them. */
static struct wb_symbol *
visit_copy(const struct wb_call *call)
{
    struct wb_symbols *symbols = &call->frame->flow->symbols;
    struct wb_symbol *at = wb_argument(call, 0), *from = wb_argument(call, 1);
    bool single, one;
    const struct wb_type *type = pointed_type(wb_argument_node(call, 0), &single),
        *copied = pointed_type(wb_argument_node(call, 1), &one);

    if (!type || type->kind == WB_OTHER) {
        type = wb_stored_type(at, type, copied);
        single = one;
    }
    if (type && type->kind == WB_VALUE) {
        if (!single) at = wb_element_of(symbols, at), from = wb_element_of(symbols, from);
        from = wb_load(call->frame, call->state, from);
    }
    wb_store(call->frame, call->state, at, type, from, call->node);
    return wb_argument(call, 0);
}

/* The key and the value of a table, as far as they are VALUEs in the source. */
static void
visit_insert(const struct wb_call *call)
{
    struct wb_symbol *address = wb_element_of(&call->frame->flow->symbols, wb_argument(call, 0));

    for (unsigned i = 1; i < call->count; i++) {
        const struct wb_node *node = wb_argument_node(call, i);
        if (!node->type || node->type->kind != WB_VALUE) continue;
        wb_store(call->frame, call->state, address, node->type, wb_argument(call, i), call->node);
    }
}

static const struct wb_type value_type = { .kind = WB_VALUE };

static void
visit_store_last(const struct wb_call *call)
{
    if (call->count < 2) return;
    wb_store(call->frame, call->state, wb_argument(call, 0), &value_type,
             wb_argument(call, call->count - 1), call->node);
}

bool
wb_apply_claim(const struct wb_call *call, struct wb_symbol *object, struct wb_symbol *address,
               struct wb_symbol *value)
{
    if (wb_claim(call->frame, call->state, object, address, value)) return true;
    wb_store(call->frame, call->state, address, &value_type, value, call->node);
    return false;
}

static void
visit_write(const struct wb_call *call)
{
    struct wb_symbol *object = wb_argument(call, 0), *address = wb_argument(call, 1),
        *value = wb_argument(call, 2);
    bool followed = wb_base_of(address)->kind == WB_S_LOCAL ||
                    wb_of_parameter_p(address, call->frame->function);

    if (wb_apply_claim(call, object, address, value))
        wb_note_barriered_store(call->frame, call->state, address, value, call->node);
    if (followed) wb_bind(call->frame->flow->arena, call->state, address, value);
    wb_barrier(call->frame, call->state, object, value);
}

void
wb_add_mark(struct wb_frame *frame, struct wb_symbol *value, bool movable)
{
    struct wb_objects *mark = WB_NEW(frame->flow->arena, struct wb_objects);

    *mark = (struct wb_objects){ .movable = movable, .object = value,
                                 .next = frame->summary->marks };
    frame->summary->marks = mark;
    wb_note_marked(frame->flow->program, value);
    if (value->kind == WB_S_LOAD) wb_note_registered(value->of);
}

/* All elements are marked; the analysis marks one of them, and does not know the number. */
static void
visit_mark_array(const struct wb_call *call)
{
    struct wb_symbol *element = wb_element_of(&call->frame->flow->symbols, wb_argument(call, 0));

    wb_add_mark(call->frame, wb_load(call->frame, call->state, element), false);
    call->frame->summary->gives = true;
}

/* The same index of the same Array is taken to be the same element. */
static struct wb_symbol *
visit_entry(const struct wb_call *call)
{
    struct wb_symbols *symbols = &call->frame->flow->symbols;

    if (call->count < 2) return wb_conjured(call, WB_S_UNKNOWN);
    return wb_contents(symbols, wb_element_at(symbols, call->arguments[0], call->nodes[1]));
}

struct wb_symbol *
wb_apply_known(const struct wb_call *call, const struct wb_known *known)
{
    struct wb_frame *frame = call->frame;
    struct wb_symbol *first = wb_argument(call, 0);

    if (known->collects) wb_gc_point(frame, call->state, call->node->function->name);
    switch (known->effect) {
      case WB_CHECKED_DATA: return visit_checked_data(call);
      case WB_DATA_OF: return wb_data_of(frame, call->state, first);
      case WB_WRAP: return visit_wrap(call);
      case WB_ALLOCATE: return new_object(call, data_type_argument(call, 2), NULL);
      case WB_MAKE: return visit_make(call);
      case WB_MEMORY: return wb_conjured(call, WB_S_MEMORY);
      case WB_COPY: return visit_copy(call);
      case WB_INSERT: visit_insert(call); break;
      case WB_STORE_LAST: visit_store_last(call); break;
      case WB_REALLOCATE:
      case WB_RETURN_FIRST: return first;
      case WB_CLASS_OF: return wb_contents(&frame->flow->symbols, first);
      case WB_ENTRY: return visit_entry(call);
      case WB_WRITE: visit_write(call); break;
      case WB_WRITTEN: wb_barrier(frame, call->state, first, wb_argument(call, 2)); break;
      case WB_REMEMBER: wb_barrier(frame, call->state, first, wb_argument(call, 1)); break;
      case WB_UNPROTECT: wb_unprotect(frame, call->state, first); break;
      case WB_MARK: wb_add_mark(frame, first, false); break;
      case WB_MARK_MOVABLE: wb_add_mark(frame, first, true); break;
      case WB_MARK_ARRAY: visit_mark_array(call); break;
      case WB_RETURN_IMMEDIATE: return wb_symbol(&frame->flow->symbols, WB_S_CONSTANT, NULL, NULL,
                                                 0);
      case WB_OUT:
      case WB_NOTHING: break;
    }
    return wb_conjured(call, WB_S_UNKNOWN);
}

