/* state.c - the lists of a state, and how two states are joined. */
#include "barriers/flow/state.h"

struct wb_symbol *
wb_bound(const struct wb_state *state, const struct wb_symbol *address)
{
    for (const struct wb_binding *binding = state->bindings; binding; binding = binding->next) {
        if (binding->address == address) return binding->value;
    }
    return NULL;
}

void
wb_bind(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *address,
        struct wb_symbol *value)
{
    if (wb_bound(state, address) == value) return;
    struct wb_binding *binding = WB_NEW(arena, struct wb_binding);
    *binding = (struct wb_binding){address, value,
                                   state->bindings ? state->bindings->length + 1 : 1,
                                       state->bindings};
    state->bindings = binding;
}

static void
add_object(struct wb_arena *arena, const struct wb_objects **objects, struct wb_symbol *object)
{
    struct wb_objects *added = WB_NEW(arena, struct wb_objects);

    *added = (struct wb_objects){ .object = object, .next = *objects };
    *objects = added;
}

static bool
among_p(const struct wb_objects *objects, const struct wb_symbol *object)
{
    while (objects && objects->object != object) objects = objects->next;
    return objects != NULL;
}

bool
wb_fresh_p(const struct wb_state *state, const struct wb_symbol *object)
{
    return among_p(state->fresh, object);
}

void
wb_add_fresh(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object)
{
    if (!wb_fresh_p(state, object)) add_object(arena, &state->fresh, object);
}

bool
wb_unprotected_p(const struct wb_state *state, const struct wb_symbol *object)
{
    return among_p(state->unprotected, object);
}

void
wb_add_unprotected(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object)
{
    if (!wb_unprotected_p(state, object)) add_object(arena, &state->unprotected, object);
}

static const struct wb_objects *
find_wrapped(const struct wb_state *state, const struct wb_symbol *data)
{
    const struct wb_objects *wrapped = state->wrapped;

    while (wrapped && wrapped->data != data) wrapped = wrapped->next;
    return wrapped;
}

struct wb_symbol *
wb_wrapped_in(const struct wb_state *state, const struct wb_symbol *data)
{
    const struct wb_objects *wrapped = find_wrapped(state, data);

    return wrapped ? wrapped->object : NULL;
}

struct wb_data_type *
wb_type_wrapped_in(const struct wb_state *state, const struct wb_symbol *data)
{
    const struct wb_objects *wrapped = find_wrapped(state, data);

    return wrapped ? wrapped->data_type : NULL;
}

void
wb_add_wrapped(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object,
               struct wb_symbol *data, struct wb_data_type *data_type)
{
    if (wb_wrapped_in(state, data) == object) return;
    struct wb_objects *added = WB_NEW(arena, struct wb_objects);
    *added = (struct wb_objects){ .object = object, .data = data, .data_type = data_type,
                                  .next = state->wrapped };
    state->wrapped = added;
}

static bool
vague_p(const struct wb_symbol *value)
{
    return value->kind == WB_S_UNKNOWN || value->kind == WB_S_EITHER;
}

/* If a store is late, two unknown values make no difference: only a barrier would care which
 * one it is. */
static bool
same_store_p(const struct wb_store *one, const struct wb_store *other)
{
    bool same_value = one->value == other->value ||
                      (one->late && vague_p(one->value) && vague_p(other->value));

    return one->address == other->address && same_value && one->late == other->late &&
           one->call == other->call &&
           one->place.line == other->place.line && one->place.column == other->place.column &&
           one->place.file == other->place.file;
}

void
wb_add_store(struct wb_arena *arena, const struct wb_stores **stores, const struct wb_store *store)
{
    for (const struct wb_stores *each = *stores; each; each = each->next) {
        if (each->store == store || same_store_p(each->store, store)) return;
    }
    if (*stores && (*stores)->length >= WB_STORES_MOST) return;
    struct wb_stores *added = WB_NEW(arena, struct wb_stores);
    *added = (struct wb_stores){store, *stores ? (*stores)->length + 1 : 1, *stores};
    *stores = added;
}

/* ---- joining two paths ---- */

static const struct wb_binding *
common_bindings(const struct wb_binding *one, const struct wb_binding *other)
{
    while (one != other) {
        if (!other || (one && one->length >= other->length)) one = one->next;
        else other = other->next;
    }
    return one;
}

static const struct wb_stores *
common_stores(const struct wb_stores *one, const struct wb_stores *other)
{
    while (one != other) {
        if (!other || (one && one->length >= other->length)) one = one->next;
        else other = other->next;
    }
    return one;
}

/* A value that may be either of two. NULL and nil are no objects, so only the other value
 * matters. */
static struct wb_symbol *
join_values(struct wb_symbols *symbols, struct wb_symbol *address, struct wb_symbol *one,
            struct wb_symbol *other)
{
    if (!one || one->kind == WB_S_CONSTANT) return other ? other : one;
    if (!other || other->kind == WB_S_CONSTANT || one == other) return one;
    struct wb_symbol *either = wb_either(symbols, address, one, other);
    return either ? either :
           wb_symbol(symbols, WB_S_UNKNOWN, one, address, (int64_t)(uintptr_t)other);
}

static void
join_bindings(struct wb_symbols *symbols, struct wb_state *into, const struct wb_state *other)
{
    const struct wb_binding *common = common_bindings(into->bindings, other->bindings);
    const struct wb_state before = *into;

    for (int side = 0; side < 2; side++) {
        const struct wb_binding *binding = side ? other->bindings : before.bindings;
        for (; binding != common; binding = binding->next) {
            struct wb_symbol *address = binding->address;
            struct wb_symbol *value = join_values(symbols, address, wb_bound(&before, address),
                                                  wb_bound(other, address));
            wb_bind(symbols->arena, into, address, value);
        }
    }
}

/* Keeps the objects that are in both lists. */
static void
intersect_objects(struct wb_arena *arena, const struct wb_objects **into,
                  const struct wb_objects *other)
{
    const struct wb_objects *objects = *into;

    if (objects == other) return;
    *into = NULL;
    for (; objects; objects = objects->next) {
        if (among_p(other, objects->object)) add_object(arena, into, objects->object);
    }
}

void
wb_join_states(struct wb_symbols *symbols, struct wb_state *into, const struct wb_state *other)
{
    if (other->dead) return;
    if (into->dead) {
        *into = *other;
        return;
    }
    const struct wb_stores *common = common_stores(into->stores, other->stores);
    join_bindings(symbols, into, other);
    intersect_objects(symbols->arena, &into->fresh, other->fresh);
    intersect_objects(symbols->arena, &into->unprotected, other->unprotected);
    for (const struct wb_stores *each = other->stores; each != common; each = each->next) {
        wb_add_store(symbols->arena, &into->stores, each->store);
    }
    for (const struct wb_objects *each = other->wrapped; each; each = each->next) {
        wb_add_wrapped(symbols->arena, into, each->object, each->data, each->data_type);
    }
    into->collected |= other->collected;
}
