#ifndef HEAPPROF_BARRIERS_GUARDS_H
#define HEAPPROF_BARRIERS_GUARDS_H
/* Stores that have happened only if a number is of certain classes.
 *
 *     if (full) return 0;        the result is zero
 *     p->a = v;
 *     return 1;                  the result is positive; so the store has a guard:
 *                                it has happened only if the result is positive
 *
 * Where the result is tested, stores whose guard excludes what the test says have not happened. */
#include "barriers/flow/state.h"

/* Classes of numbers. Programs test for zero, for a sign and for nil. So zero and nil have classes
 * of their own. The other numbers of one sign are not told apart. */
enum {
    WB_ZERO = 1, WB_NEGATIVE = 2,
    WB_NIL = 4,       /* Qnil, which is 4 or 8 */
    WB_POSITIVE = 8,  /* any other, and a pointer that is not NULL */
    WB_NOT_ZERO = WB_NEGATIVE | WB_NIL | WB_POSITIVE,
    WB_ANY_CLASS = WB_ZERO | WB_NOT_ZERO
};

struct wb_guard {
    const struct wb_symbol *value;    /* NULL: the result of the function */
    unsigned                classes;
    const struct wb_guard  *next;
};

unsigned wb_class_of_number(int64_t number);

/* The classes that a value may be of. */
unsigned wb_classes_of(const struct wb_symbol *value);

/* A constant of one of those classes. */
struct wb_symbol *wb_constant_of(struct wb_symbols *symbols, unsigned classes);

/* A constant that is known only by the place where it came to be: it may have guards. */
struct wb_symbol *wb_met_constant(struct wb_symbols *symbols, unsigned classes);

/* A new guard before those of `next`. If value is NULL, it is about the function's result. */
const struct wb_guard *wb_new_guard(struct wb_arena *arena, const struct wb_symbol *value,
                                    unsigned classes, const struct wb_guard *next);

/* The classes that the value is of if the store has happened. */
unsigned wb_guarded_classes(const struct wb_store *store, const struct wb_symbol *value);

/* True if one of the stores has a guard on that value. */
bool wb_guarded_p(const struct wb_stores *stores, const struct wb_symbol *value);

/* The same store with one more guard; without those on that value. */
const struct wb_store *wb_add_guard(struct wb_arena *arena, const struct wb_store *store,
                                    const struct wb_symbol *value, unsigned classes);
const struct wb_store *wb_without_guard(struct wb_arena *arena, const struct wb_store *store,
                                        const struct wb_symbol *value);

/* The value is of one of those classes here: drops the stores whose guards exclude that. */
void wb_assume_classes(struct wb_arena *arena, struct wb_state *state,
                       const struct wb_symbol *value, unsigned classes);

/* The name of the value is used anew: no store has a guard on it any more. */
void wb_forget_guards(struct wb_arena *arena, struct wb_state *state,
                      const struct wb_symbol *value);

/* ---- where two paths meet ---- */

/* A variable that had one value on one path, and another one on the other path. */
struct wb_met {
    const struct wb_symbol *address;
    struct wb_symbol       *value, *sides[2];
    struct wb_met          *next;
};

/* The guards of the stores of one path, and of those of both. side: 0 or 1; both: the stores of the
 * other path. */
const struct wb_store *wb_guard_of_path(struct wb_arena *arena, const struct wb_store *store,
                                        const struct wb_met *met, int side,
                                        const struct wb_stores *others);

#endif
