/* pointers.c - pointers that are stored into an object: memory becomes the object's, or moves to it
 * from another object.
 *
 *     n = ALLOC(struct node); n->value = v; p->head = n;    new memory: the store of v is into p
 *     n = q->head; p->head = n;                             all VALUEs of n are stored into p
 */
#include "barriers/flow/flow.h"

#include "barriers/flow/blocks.h"
#include "barriers/flow/facts.h"

/* ---- new memory ---- */

/* Stores into memory that no object owned are the object's from here on. */
static void
adopt_stores(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *memory)
{
    const struct wb_stores *stores = state->stores;

    state->stores = NULL;
    for (; stores; stores = stores->next) {
        if (wb_base_of(stores->store->address) == memory) {
            wb_replay_store(frame, state, stores->store);
        }
        else wb_add_store(frame->flow->arena, &state->stores, stores->store);
    }
}

/* ---- memory that moves ---- */

/* True if the value was loaded from an address in an object, and that is not the given one. left:
 * only if something else is there by now. */
static bool
comes_from_another_p(struct wb_frame *frame, const struct wb_state *state,
                     struct wb_symbol *value, const struct wb_symbol *object, bool left)
{
    struct wb_symbol *base = wb_base_of(value), *parent;

    if (base->kind != WB_S_LOAD) return false;
    parent = wb_parent_of(state, base);
    return parent && parent != object && !(left && wb_load(frame, state, base->of) == base);
}

/* The memory is the object's from here on, so all that it holds is stored into the object. A node
 * that is linked behind another one moves only if it was taken out of its list: otherwise it may
 * be that the other one was. */
static void
move_memory(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
            const struct wb_type *type, struct wb_symbol *value, const struct wb_node *node)
{
    struct wb_symbol *object = wb_parent_of(state, address), *base = wb_base_of(value);
    struct wb_symbol *there = wb_symbol(&frame->flow->symbols, WB_S_LOAD, NULL, address, 0);
    const struct wb_type *to = type->to;
    const struct wb_type all = { .kind = WB_ARRAY, .to = (struct wb_type *)to };
    const bool linked = wb_base_of(address)->kind == WB_S_LOAD;

    if (!to || !comes_from_another_p(frame, state, value, object, linked)) return;
    if (to->kind == WB_RECORD) wb_store(frame, state, there, to, value, node);
    if (to->kind == WB_VALUE) wb_store(frame, state, there, &all, value, node);
    wb_add_wrapped(frame->flow->arena, state, object, base,
                   (struct wb_data_type *)wb_owning_type(state, address));
}

/* ---- all of them ---- */

/* The object's is also the new memory that this new memory points to. */
static void
adopt_memory(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *memory,
             const struct wb_node *node)
{
    for (const struct wb_binding *each = state->bindings; each; each = each->next) {
        const struct wb_field *field = wb_field_of(each->address);
        if (!field || field->type->kind != WB_POINTER || each->value->kind != WB_S_MEMORY) continue;
        if (wb_base_of(each->address) != memory) continue;
        if (wb_bound(state, each->address) != each->value) continue;
        wb_store_pointer(frame, state, each->address, field->type, each->value, node);
    }
}

/* True for the address of a link, as &node->next, that the type's mark function goes along. */
static bool
link_p(const struct wb_symbol *value, const struct wb_data_type *data_type)
{
    const struct wb_field *field = value->kind == WB_S_FIELD ? value->what : NULL;

    return field && wb_field_use(field, data_type)->behind;
}

/* If the object marks what the field points to, memory belongs to the object now. A field that is
 * given an address in the data, or that of a link, leads to what is there. */
static void
store_one(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
          const struct wb_type *type, struct wb_symbol *value, const struct wb_node *node)
{
    struct wb_symbol *object = wb_parent_of(state, address), *base = wb_base_of(value);
    struct wb_data_type *data_type = (struct wb_data_type *)wb_owning_type(state, address);
    struct wb_field *field = (struct wb_field *)wb_field_of(address);

    if (!field) field = (struct wb_field *)wb_holder_of(address); /* of an array of pointers */
    wb_note_pointer(frame, address, value, type,
                    wb_on_stack_p(wb_base_of(address)) ? NULL : data_type);
    if (!data_type || !field) return;
    if ((base->kind == WB_S_DATA && value != base) || link_p(value, data_type)) {
        wb_field_use_of(frame->flow->arena, field, data_type)->behind = true;
    }
    if (!object || !wb_field_use(field, data_type)->behind) return;
    if (base->kind != WB_S_MEMORY) move_memory(frame, state, address, type, value, node);
    else if (!wb_wrapped_in(state, base)) {
        wb_add_wrapped(frame->flow->arena, state, object, base, data_type);
        adopt_stores(frame, state, base);
        adopt_memory(frame, state, base, node);
    }
}

/* Where it is one of two addresses, or one of two pointers, each may be the one. */
void
wb_store_pointer(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
                 const struct wb_type *type, struct wb_symbol *value, const struct wb_node *node)
{
    const struct wb_symbol *at = wb_base_of(address), *to = wb_base_of(value);

    for (unsigned i = 0; i < 2 && at->kind == WB_S_EITHER; i++) {
        wb_store_pointer(frame, state, wb_address_from(frame, address, i ? at->other : at->of),
                         type, value, node);
    }
    if (at->kind == WB_S_EITHER) return;
    for (unsigned i = 0; i < 2 && to->kind == WB_S_EITHER; i++) {
        wb_store_pointer(frame, state, address, type,
                         wb_address_from(frame, value, i ? to->other : to->of), node);
    }
    if (to->kind != WB_S_EITHER) store_one(frame, state, address, type, value, node);
}

/* ---- data that replaces other data ---- */

void
wb_replace_data(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                struct wb_symbol *data, const struct wb_type *type, const struct wb_node *node)
{
    struct wb_symbol *address = wb_symbol(&frame->flow->symbols, WB_S_DATA, NULL, object, 0);
    struct wb_record *record = wb_pointed(type);

    if (data == wb_data_of(frame, state, object)) return; /* the same memory, perhaps reallocated */
    wb_bind(frame->flow->arena, state, address, data);
    if (data->kind == WB_S_CONSTANT) return;
    wb_add_wrapped(frame->flow->arena, state, object, data, object->data_type);
    if (data->kind == WB_S_MEMORY) adopt_stores(frame, state, data);
    else if (record && !wb_fresh_p(state, object)) {
        struct wb_type whole = { .kind = WB_RECORD, .record = record };
        wb_store(frame, state, data, &whole,
                 wb_symbol(&frame->flow->symbols, WB_S_UNKNOWN, node, data, 0), node);
    }
}
