#ifndef HEAPPROF_BARRIERS_FACTS_H
#define HEAPPROF_BARRIERS_FACTS_H
/* Facts about a field that hold in the whole program: whether a mark function marks it, and
 * whether it only ever holds Strings. */
#include "barriers/flow/symbols.h"

/* True if no mark function marks the field. Then the GC does not follow the reference, so a
 * store there needs no barrier. */
bool wb_unmarked_p(const struct wb_data_type *data_type, const struct wb_symbol *address);

/* Notes that the value is stored at the address. */
void wb_note_stored(const struct wb_symbol *address, const struct wb_symbol *value);

/* Notes that a function that runs in a GC (dcompact) stores at the address. */
void wb_note_updated(const struct wb_symbol *address);

/* True if only Strings and nil were stored there. */
bool wb_only_strings_p(const struct wb_symbol *address);

/* True if the function returns a String. */
bool wb_returns_string_p(const struct wb_function *function);

/* True if the function replaces a value that is no String by one, as StringValue does. */
bool wb_converts_to_string_p(const struct wb_function *function);

#endif
