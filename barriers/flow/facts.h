#ifndef HEAPPROF_BARRIERS_FACTS_H
#define HEAPPROF_BARRIERS_FACTS_H
/* What is known of a field wherever it is used: whether it is marked, and whether it ever holds anything but a String. */
#include "barriers/flow/symbols.h"

/* Whether nothing marks what is stored there: then the GC does not follow the reference, and it needs no barrier. */
bool wb_unmarked_p(const struct wb_data_type *data_type, const struct wb_symbol *address);

/* That value is stored there. */
void wb_note_stored(const struct wb_symbol *address, const struct wb_symbol *value);

/* Something is stored there by a function that runs in a GC: by dcompact. */
void wb_note_updated(const struct wb_symbol *address);

/* Whether all that was stored there is Strings, and nil. */
bool wb_only_strings_p(const struct wb_symbol *address);

/* Whether a function returns a String; stores one where it finds none, as StringValue does. */
bool wb_returns_string_p(const struct wb_function *function);
bool wb_converts_to_string_p(const struct wb_function *function);

#endif
