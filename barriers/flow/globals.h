#ifndef HEAPPROF_BARRIERS_GLOBALS_H
#define HEAPPROF_BARRIERS_GLOBALS_H
/* Which global variables hold VALUEs, and which of these the GC knows. */
#include "barriers/flow/symbols.h"

/* Notes a store in the last visit, if it is into a global variable or into memory that only that
 * leads to. */
void wb_note_global(const struct wb_symbol *address, const struct wb_symbol *value,
                    const struct wb_place *place);

/* Notes that a function gets that address: it may register it. */
void wb_note_registered(const struct wb_symbol *address);

/* Notes that a function gets that value: it may mark the value, or put it where it is marked. */
void wb_note_held(const struct wb_function *function, struct wb_symbol *value);

/* True if no GC frees or moves what the function returns, as a class that C defines. */
bool wb_returns_immortal_p(const struct wb_function *function);

#endif
