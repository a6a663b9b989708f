/* join.c - how the states of two paths are joined. */
#include "barriers/flow/guards.h"

/* Sets both to the element from which on the two lists are one. */
#define GO_TO_COMMON(one, other) \
    while ((one) != (other)) { \
        if (!(other) || ((one) && (one)->length >= (other)->length)) (one) = (one)->next; \
        else (other) = (other)->next; \
    }

/* A value that may be either of two. NULL and nil are no objects, so only the other value
 * matters: also that which is in memory where one path has stored nothing. */
static struct wb_symbol *
join_values(struct wb_symbols *symbols, struct wb_symbol *address, struct wb_symbol *one,
            struct wb_symbol *other)
{
    if (one && other && one != other && one->kind == WB_S_CONSTANT &&
        other->kind == WB_S_CONSTANT) {
        return wb_met_constant(symbols, wb_classes_of(one) | wb_classes_of(other));
    }
    if (!one || !other) {
        struct wb_symbol *only = one ? one : other;
        bool kept = only->kind == WB_S_CONSTANT && wb_base_of(address)->kind != WB_S_LOCAL;
        return kept ? wb_symbol(symbols, WB_S_LOAD, NULL, address, 0) : only;
    }
    if (one->kind == WB_S_CONSTANT) return other;
    if (other->kind == WB_S_CONSTANT || one == other) return one;
    struct wb_symbol *either = wb_either(symbols, address, one, other);
    return either ? either :
           wb_symbol(symbols, WB_S_UNKNOWN, one, address, (int64_t)(uintptr_t)other);
}

/* Returns the variables with a constant on at least one path, and another value on the other. */
static struct wb_met *
join_bindings(struct wb_symbols *symbols, struct wb_state *into, const struct wb_state *other)
{
    const struct wb_binding *common = into->bindings, *theirs = other->bindings;
    const struct wb_state before = *into;
    struct wb_met *met = NULL, *same;

    GO_TO_COMMON(common, theirs)
    for (int side = 0; side < 2; side++) {
        const struct wb_binding *binding = side ? other->bindings : before.bindings;
        for (; binding != common; binding = binding->next) {
            struct wb_symbol *address = binding->address;
            struct wb_symbol *one = wb_bound(&before, address), *two = wb_bound(other, address);
            for (same = met; same && same->address != address; same = same->next) continue;
            if (same) continue;
            struct wb_symbol *value = join_values(symbols, address, one, two);
            wb_bind(symbols->arena, into, address, value);
            if (!one || !two || one == two) continue;
            if (one->kind != WB_S_CONSTANT && two->kind != WB_S_CONSTANT) continue;
            same = WB_NEW(symbols->arena, struct wb_met);
            *same = (struct wb_met){address, value, {one, two}, met};
            met = same;
        }
    }
    return met;
}

static void
join_stores(struct wb_arena *arena, struct wb_state *into, const struct wb_state *other,
            const struct wb_met *met)
{
    const struct wb_stores *ours = into->stores, *theirs = other->stores;
    const struct wb_stores *common = ours, *theirs_common = theirs;

    GO_TO_COMMON(common, theirs_common)
    for (const struct wb_met *each = met; each; each = each->next) {
        if (wb_guarded_p(common, each->value)) common = NULL;
    }
    if (met) into->stores = common;
    for (const struct wb_stores *each = met ? ours : common; each != common; each = each->next) {
        wb_add_store(arena, &into->stores,
                     wb_guard_of_path(arena, each->store, met, 0, theirs));
    }
    for (const struct wb_stores *each = theirs; each != common; each = each->next) {
        wb_add_store(arena, &into->stores, wb_guard_of_path(arena, each->store, met, 1, ours));
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
    join_stores(symbols->arena, into, other, join_bindings(symbols, into, other));
    wb_keep_common_objects(symbols->arena, into, other);
    for (const struct wb_objects *each = other->wrapped; each; each = each->next) {
        wb_add_wrapped(symbols->arena, into, each->object, each->data, each->data_type);
    }
    into->collected |= other->collected;
}
