/* state.c - the lists of a state. */
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

static bool
among_p(const struct wb_objects *objects, const struct wb_symbol *object,
        const struct wb_symbol *data)
{
    while (objects && (objects->object != object || objects->data != data)) objects = objects->next;
    return objects != NULL;
}

static void
add_object(struct wb_arena *arena, const struct wb_objects **objects, struct wb_symbol *object,
           struct wb_symbol *data)
{
    if (among_p(*objects, object, data)) return;
    struct wb_objects *added = WB_NEW(arena, struct wb_objects);
    *added = (struct wb_objects){ .object = object, .data = data, .next = *objects };
    *objects = added;
}

bool
wb_fresh_p(const struct wb_state *state, const struct wb_symbol *object)
{
    return among_p(state->fresh, object, NULL);
}

void
wb_add_fresh(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object)
{
    add_object(arena, &state->fresh, object, NULL);
}

bool
wb_unprotected_p(const struct wb_state *state, const struct wb_symbol *object)
{
    return among_p(state->unprotected, object, NULL);
}

void
wb_add_unprotected(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object)
{
    add_object(arena, &state->unprotected, object, NULL);
}

bool
wb_told_p(const struct wb_state *state, const struct wb_symbol *object,
          const struct wb_symbol *value)
{
    return among_p(state->told, object, value);
}

void
wb_add_told(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object,
            struct wb_symbol *value)
{
    add_object(arena, &state->told, object, value);
}

/* Keeps what is in both lists. */
static void
intersect_objects(struct wb_arena *arena, const struct wb_objects **into,
                  const struct wb_objects *other)
{
    const struct wb_objects *objects = *into;

    if (objects == other) return;
    *into = NULL;
    for (; objects; objects = objects->next) {
        if (among_p(other, objects->object, objects->data)) {
            add_object(arena, into, objects->object, objects->data);
        }
    }
}

void
wb_keep_common_objects(struct wb_arena *arena, struct wb_state *state,
                       const struct wb_state *other)
{
    intersect_objects(arena, &state->fresh, other->fresh);
    intersect_objects(arena, &state->unprotected, other->unprotected);
    intersect_objects(arena, &state->told, other->told);
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

/* True if the first one says all that the other one says. If a store is late, two unknown values
 * make no difference: only a barrier would care which one it is. */
static bool
same_store_p(const struct wb_store *one, const struct wb_store *other)
{
    bool same_value = one->value == other->value ||
                      (one->late && vague_p(one->value) && vague_p(other->value));

    return one->address == other->address && same_value && one->late == other->late &&
           one->call == other->call && (!one->guards || one->guards == other->guards) &&
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
