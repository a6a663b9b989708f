/* barriers.c - barriers, and which of the stores that wait for one they answer. A store is
 * answered, too, where the object or the value turns out to be none.
 */
#include "barriers/flow/flow.h"

#include "barriers/flow/guards.h"

/* True if they are the same address, except that the first may have any element where the other one
 * has the element of a variable index. */
static bool
among_elements_p(const struct wb_symbol *any, const struct wb_symbol *one)
{
    for (; any != one; any = any->of, one = one->of) {
        bool index = any->kind == WB_S_INDEX && !any->what && any->number < 0 && one->number < 0;
        bool same = any->what == one->what && any->number == one->number;
        if (any->kind != one->kind || !any->of || !one->of || !(index || same)) return false;
    }
    return true;
}

/* True if all elements of an array were copied, and the value is of one of them, by a variable
 * index: there is a barrier for each. */
static bool
element_p(const struct wb_store *store, const struct wb_symbol *value)
{
    const struct wb_symbol *from = store->value;

    if (value->kind != WB_S_LOAD) return false;
    return among_elements_p(store->address, value->of) ||
           (from->kind == WB_S_LOAD && among_elements_p(from->of, value->of));
}

static bool
waits_p(const struct wb_stores *stores, const struct wb_store *store)
{
    while (stores && stores->store != store) stores = stores->next;
    return stores != NULL;
}

/* True if both are in the same array, at any index. */
static bool
in_one_array_p(const struct wb_symbol *one, const struct wb_symbol *other)
{
    for (;; one = one->of, other = other->of) {
        while (one->kind == WB_S_INDEX) one = one->of;
        while (other->kind == WB_S_INDEX) other = other->of;
        if (one == other) return true;
        if (one->kind != other->kind || !one->of || !other->of) return false;
        if (one->what != other->what || one->number != other->number) return false;
    }
}

/* True for an element that is another one each time around a loop: at the index of a variable, or
 * where a pointer is. */
static bool
of_each_p(const struct wb_symbol *value)
{
    if (value->kind != WB_S_LOAD && !wb_contents_p(value)) return false;
    for (const struct wb_symbol *at = value->of; at; at = at->of) {
        if (at->kind == WB_S_INDEX && at->number < 0) return true;
    }
    if (value->kind != WB_S_LOAD || value->of->kind == WB_S_INDEX) return false;
    const struct wb_field *field = wb_field_of(value->of);
    return field ? field->type->kind == WB_ARRAY : !wb_on_stack_p(value->of);
}

/* True if there is a barrier for each element of an array, and the store is one of those before it:
 * of an element of that array, or into one. */
static bool
told_of_each_p(const struct wb_store *store, const struct wb_symbol *value,
               const struct wb_stores *before)
{
    if (!waits_p(before, store)) return false;
    return in_one_array_p(store->value, value) ||
           (value->kind == WB_S_LOAD && in_one_array_p(store->address, value->of));
}

/* True for p->self, where p is the object's data. */
static bool
itself_p(const struct wb_state *state, const struct wb_symbol *object,
         const struct wb_symbol *parent)
{
    const struct wb_field *field = object->kind == WB_S_LOAD ? wb_field_of(object->of) : NULL;

    return field && field->itself && wb_parent_of(state, object->of) == parent;
}

/* before: the stores before a barrier for each element of an array; NULL for any other barrier. */
static bool
answers_p(const struct wb_state *state, const struct wb_store *store,
          const struct wb_symbol *object, const struct wb_symbol *value,
          const struct wb_stores *before)
{
    const struct wb_symbol *parent = wb_parent_of(state, store->address);

    if (object && parent && parent != object && !itself_p(state, object, parent)) return false;
    return !value || value == store->value || element_p(store, value) ||
           told_of_each_p(store, value, before) ||
           (value->kind == WB_S_LOAD && value->of == store->address);
}

/* Drops the stores that a barrier answers. object, value NULL: any. before: as above. by: those
 * alone that it has stored; NULL: all. */
static void
remove_answered(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                struct wb_symbol *value, const struct wb_stores *before,
                const struct wb_condition *by)
{
    const struct wb_stores *stores = state->stores;

    state->stores = NULL;
    for (; stores; stores = stores->next) {
        const struct wb_store *store = stores->store;
        bool others = by && (waits_p(by->earlier, store) || !waits_p(by->stored, store) ||
                             wb_guarded_classes(store, by->truth) != WB_ANY_CLASS);
        if (others || wb_ownerless_p(state, store) ||
            !answers_p(state, store, object, value, before))
            wb_add_store(frame->flow->arena, &state->stores, store);
    }
}

/* True for a value that is the same one wherever it has this name. An element of an array by a
 * variable index is not. */
static bool
lasting_p(const struct wb_symbol *value)
{
    for (; value; value = value->of) {
        if (value->kind == WB_S_EITHER) return false;
        if (value->kind == WB_S_INDEX && value->number < 0) return false;
    }
    return true;
}

/* Two parameters are taken to be two objects. Other values may be the same object by another
 * name. */
static bool
wrong_object_p(const struct wb_state *state, const struct wb_symbol *given,
               struct wb_symbol *address)
{
    const struct wb_symbol *parent = wb_parent_of(state, address);

    return parent && parent != given && parent->kind == WB_S_PARAMETER &&
           given->kind == WB_S_PARAMETER;
}

static bool
claimed_p(const struct wb_claim *claims, const struct wb_claim *claim)
{
    for (; claims; claims = claims->next) {
        if (claims->object == claim->object && claims->address == claim->address &&
            claims->value == claim->value)
            return true;
    }
    return false;
}

bool
wb_claim(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *object,
         struct wb_symbol *address, struct wb_symbol *value)
{
    struct wb_claim claim = { .object = object, .address = address, .value = value,
                              .next = frame->summary->claims };

    if (wrong_object_p(state, object, address)) return false;
    if (!wb_of_parameter_p(address, frame->function) || wb_parent_of(state, address)) return true;
    if (object->kind != WB_S_PARAMETER || claimed_p(claim.next, &claim)) return true;
    struct wb_claim *noted = WB_NEW(frame->flow->arena, struct wb_claim);
    *noted = claim;
    frame->summary->claims = noted;
    return true;
}

static void
note_claims(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *object,
            struct wb_symbol *value, const struct wb_stores *before)
{
    for (const struct wb_stores *stores = state->stores; stores; stores = stores->next) {
        const struct wb_store *store = stores->store;
        if (wb_ownerless_p(state, store) || !answers_p(state, store, object, value, before)) {
            continue;
        }
        wb_claim(frame, state, object, store->address, store->value);
    }
}

/* each: as in wb_objects. */
static void
note_barrier(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
             struct wb_symbol *value, const struct wb_stores *before, bool each)
{
    struct wb_objects *barriers_seen = WB_NEW(frame->flow->arena, struct wb_objects);

    *barriers_seen = (struct wb_objects){ .object = object, .data = value,
                                          .next = frame->barriers_seen };
    frame->barriers_seen = barriers_seen;
    if (object && value && lasting_p(value)) {
        wb_add_told(frame->flow->arena, state, object, value);
    }
    if (object) note_claims(frame, state, object, value, before);
    remove_answered(frame, state, object, value, before, NULL);
    if (!state->collected && wb_of_parameter_p(object, frame->function)) {
        struct wb_objects *barrier = WB_NEW(frame->flow->arena, struct wb_objects);
        *barrier = (struct wb_objects){ .object = object, .data = value, .each = each,
                                        .next = frame->summary->barriers };
        frame->summary->barriers = barrier;
    }
}

void
wb_barrier(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
           struct wb_symbol *value)
{
    bool each = frame->loops > 0 && value && of_each_p(value);

    note_barrier(frame, state, object, value, each ? frame->before_loop : NULL, each);
}

void
wb_barrier_of_call(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                   struct wb_symbol *value, bool each)
{
    if (!each) wb_barrier(frame, state, object, value);
    else note_barrier(frame, state, object, value, state->stores, true);
}

/* Variables that have the value have a constant from here on. */
static void
forget_value(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *value)
{
    struct wb_symbol *constant = wb_symbol(&frame->flow->symbols, WB_S_CONSTANT, NULL, NULL, 0);
    const struct wb_binding *binding = state->bindings;

    for (; binding; binding = binding->next) {
        if (binding->value != value || binding->address->kind != WB_S_LOCAL) continue;
        if (wb_bound(state, binding->address) != value) continue;
        wb_bind(frame->flow->arena, state, binding->address, constant);
    }
}

void
wb_assume_no_object(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                    struct wb_symbol *value)
{
    remove_answered(frame, state, object, value, NULL, NULL);
    if (value) forget_value(frame, state, value);
}

void
wb_assume_not_stored(struct wb_frame *frame, struct wb_state *state,
                     const struct wb_condition *condition, const struct wb_objects *barrier)
{
    remove_answered(frame, state, barrier->object, barrier->data, NULL, condition);
}

static bool
copied_with_p(const struct wb_store *store, const struct wb_symbol *tagged)
{
    struct wb_symbol *from = store->value->kind == WB_S_LOAD ? store->value->of : NULL;

    return store->copied &&
           (wb_base_of(store->address) == tagged || (from && wb_base_of(from) == tagged));
}

void
wb_assume_not_tagged(struct wb_frame *frame, struct wb_state *state,
                     const struct wb_symbol *tagged, const struct wb_objects *barrier)
{
    const struct wb_stores *stores = state->stores;

    state->stores = NULL;
    for (; stores; stores = stores->next) {
        if (wb_ownerless_p(state, stores->store) || !copied_with_p(stores->store, tagged) ||
            !answers_p(state, stores->store, barrier->object, barrier->data, NULL))
            wb_add_store(frame->flow->arena, &state->stores, stores->store);
    }
}

void
wb_unprotect(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object)
{
    remove_answered(frame, state, object, NULL, NULL, NULL);
    wb_add_unprotected(frame->flow->arena, state, object);
}
