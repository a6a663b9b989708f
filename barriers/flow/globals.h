#ifndef HEAPPROF_BARRIERS_GLOBALS_H
#define HEAPPROF_BARRIERS_GLOBALS_H
/* Which global variables hold VALUEs, and which of these the GC knows. */
#include "barriers/flow/symbols.h"

/* The variable that the address begins at, perhaps through pointers. Returns NULL if it begins
 * elsewhere, or leads to the data of objects. */
struct wb_variable *wb_global_at(const struct wb_symbol *address);

/* Notes a store in the last visit, if it is into a global variable or into memory that only that
 * leads to. */
void wb_note_global(const struct wb_symbol *address, const struct wb_symbol *value,
                    const struct wb_place *place);

/* True if the function marks or registers what is at the address that it gets. */
bool wb_registers_p(const struct wb_function *function);

/* True if the function may register an address that it gets. What a function that is read does is
 * known otherwise. */
bool wb_may_register_p(const struct wb_function *function);

/* Notes that a function which may register addresses gets that one. */
void wb_note_registered(const struct wb_symbol *address);

/* True if the function marks the value that it gets as that argument, or puts it where it is
 * marked. */
bool wb_holds_p(const struct wb_function *function, unsigned number);

/* The value is marked, or is where it is marked. */
void wb_hold_value(struct wb_symbol *value);

/* True if no GC frees or moves the value, as far as this function and its callers know. */
bool wb_known_to_gc_p(const struct wb_symbol *value);

/* Notes that a function gets that value as that argument. Returns true if it marks the value, or
 * puts it where it is marked. */
bool wb_note_held(const struct wb_function *function, unsigned number, struct wb_symbol *value);

/* True if no GC frees or moves what the function returns: a number, or a class that C defines. */
bool wb_returns_immortal_p(const struct wb_node *call);

#endif
