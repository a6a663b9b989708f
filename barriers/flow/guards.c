/* guards.c - stores that have happened only if a number is of certain classes. */
#include "barriers/flow/guards.h"

/* Of one store. Nobody tests more. */
#define GUARDS_MOST 8

unsigned
wb_class_of_number(int64_t number)
{
    if (number == 0) return WB_ZERO;
    if (number == 4 || number == 8) return WB_NIL;
    return number < 0 ? WB_NEGATIVE : WB_POSITIVE;
}

unsigned
wb_classes_of(const struct wb_symbol *value)
{
    switch (value->kind) {
      case WB_S_CONSTANT: return value->number ? (unsigned)value->number : WB_ANY_CLASS;
      case WB_S_FRESH:
      case WB_S_MEMORY: /* of a call it may be NULL; code that goes on with its own has tested it */
        return value->of ? WB_ANY_CLASS : WB_POSITIVE;
      default: return WB_ANY_CLASS;
    }
}

struct wb_symbol *
wb_constant_of(struct wb_symbols *symbols, unsigned classes)
{
    return wb_symbol(symbols, WB_S_CONSTANT, NULL, NULL, classes);
}

struct wb_symbol *
wb_met_constant(struct wb_symbols *symbols, unsigned classes)
{
    return wb_symbol(symbols, WB_S_CONSTANT, WB_NEW(symbols->arena, char), NULL, classes);
}

/* ---- one store ---- */

unsigned
wb_guarded_classes(const struct wb_store *store, const struct wb_symbol *value)
{
    for (const struct wb_guard *guard = store->guards; guard; guard = guard->next) {
        if (guard->value == value) return guard->classes;
    }
    return WB_ANY_CLASS;
}

bool
wb_guarded_p(const struct wb_stores *stores, const struct wb_symbol *value)
{
    for (; stores; stores = stores->next) {
        if (wb_guarded_classes(stores->store, value) != WB_ANY_CLASS) return true;
    }
    return false;
}

static const struct wb_store *
with_guards(struct wb_arena *arena, const struct wb_store *store, const struct wb_guard *guards)
{
    struct wb_store *copy = WB_NEW(arena, struct wb_store);

    *copy = *store;
    copy->guards = guards;
    return copy;
}

const struct wb_guard *
wb_new_guard(struct wb_arena *arena, const struct wb_symbol *value, unsigned classes,
             const struct wb_guard *next)
{
    struct wb_guard *guard = WB_NEW(arena, struct wb_guard);

    *guard = (struct wb_guard){value, classes, next};
    return guard;
}

/* A copy of the first guards, except those on that value. */
static const struct wb_guard *
first_guards(struct wb_arena *arena, const struct wb_guard *guards, const struct wb_symbol *value,
             unsigned most)
{
    while (guards && guards->value == value) guards = guards->next;
    if (!guards || most == 0) return NULL;
    return wb_new_guard(arena, guards->value, guards->classes,
                        first_guards(arena, guards->next, value, most - 1));
}

const struct wb_store *
wb_add_guard(struct wb_arena *arena, const struct wb_store *store, const struct wb_symbol *value,
             unsigned classes)
{
    if (classes == WB_ANY_CLASS) return store;
    const struct wb_guard *others = first_guards(arena, store->guards, value, GUARDS_MOST - 1);
    return with_guards(arena, store, wb_new_guard(arena, value, classes, others));
}

const struct wb_store *
wb_without_guard(struct wb_arena *arena, const struct wb_store *store,
                 const struct wb_symbol *value)
{
    if (wb_guarded_classes(store, value) == WB_ANY_CLASS) return store;
    return with_guards(arena, store, first_guards(arena, store->guards, value, GUARDS_MOST));
}

/* ---- all stores of a state ---- */

void
wb_assume_classes(struct wb_arena *arena, struct wb_state *state, const struct wb_symbol *value,
                  unsigned classes)
{
    const struct wb_stores *stores = state->stores;

    if (!wb_guarded_p(stores, value)) return;
    state->stores = NULL;
    for (; stores; stores = stores->next) {
        if (wb_guarded_classes(stores->store, value) & classes) {
            wb_add_store(arena, &state->stores, stores->store);
        }
    }
}

void
wb_forget_guards(struct wb_arena *arena, struct wb_state *state, const struct wb_symbol *value)
{
    const struct wb_stores *stores = state->stores;

    if (!wb_guarded_p(stores, value)) return;
    state->stores = NULL;
    for (; stores; stores = stores->next) {
        wb_add_store(arena, &state->stores, wb_without_guard(arena, stores->store, value));
    }
}

/* ---- where two paths meet ---- */

static bool
among_p(const struct wb_stores *stores, const struct wb_store *store)
{
    while (stores && stores->store != store) stores = stores->next;
    return stores != NULL;
}

/* A store of both paths says nothing of the path. Where the joined value has the name of one
 * side's, a guard on that holds on its own path alone. */
const struct wb_store *
wb_guard_of_path(struct wb_arena *arena, const struct wb_store *store, const struct wb_met *met,
                 int side, const struct wb_stores *others)
{
    bool both = among_p(others, store);

    for (; met; met = met->next) {
        const struct wb_symbol *own = met->sides[side];
        if (met->value == met->sides[0] || met->value == met->sides[1]) {
            if (both || own != met->value) store = wb_without_guard(arena, store, met->value);
        }
        else if (!both) {
            unsigned classes = wb_guarded_classes(store, own) & wb_classes_of(own);
            if (classes != wb_classes_of(met->value)) {
                store = wb_add_guard(arena, store, met->value, classes);
            }
        }
    }
    return store;
}
