#ifndef HEAPPROF_BARRIERS_FACTS_H
#define HEAPPROF_BARRIERS_FACTS_H
/* Facts about a field that hold in the whole program: what each data type does with it, and
 * whether it only ever holds Strings. */
#include "barriers/flow/symbols.h"

/* What the data type does with the field. The first call for a pair makes it. */
struct wb_field_use *wb_field_use_of(struct wb_arena *arena, struct wb_field *field,
                                     struct wb_data_type *data_type);

/* The same as far as it is known. It is never NULL. */
const struct wb_field_use *wb_field_use(const struct wb_field *field,
                                        const struct wb_data_type *data_type);

/* True if the mark function of that type marks the field, or what it leads to; or that of any type
 * marks the field. */
bool wb_marked_p(const struct wb_field *field, const struct wb_data_type *data_type);
bool wb_marked_by_any_p(const struct wb_field *field);

/* The type whose mark function marks what the field points to. Returns NULL if there is none. */
const struct wb_data_type *wb_marks_behind(const struct wb_field *field);

/* True if no mark function marks the field. Then the GC does not follow the reference, so a
 * store there needs no barrier. */
bool wb_unmarked_p(const struct wb_data_type *data_type, const struct wb_symbol *address);

/* Notes that the value is stored at the address, into an object of that type. data_type: NULL if it
 * is not known. */
void wb_note_stored(struct wb_arena *arena, const struct wb_symbol *address,
                    const struct wb_symbol *value, struct wb_data_type *data_type);

/* Notes that a function that runs in a GC (dcompact) stores at the address. */
void wb_note_updated(struct wb_arena *arena, struct wb_symbol *address,
                     struct wb_data_type *data_type);

/* True if only Strings and nil were stored there. */
bool wb_only_strings_p(const struct wb_symbol *address);

/* True if the function returns a String. */
bool wb_returns_string_p(const struct wb_function *function);

/* True if the function replaces a value that is no String by one, as StringValue does. */
bool wb_converts_to_string_p(const struct wb_function *function);

#endif
