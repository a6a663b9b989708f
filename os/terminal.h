#ifndef HEAPPROF_TERMINAL_H
#define HEAPPROF_TERMINAL_H
/* Whether a descriptor is a terminal, and of what kind. Both functions look at the environment.
 */
#include <stdbool.h>

/* Returns the columns: those of COLUMNS, which counts for any descriptor; else the terminal's,
 * or a guess if these are not known. Returns 0 if fd is not a terminal: lines then stay as long
 * as they are. */
unsigned rb_heapprof_terminal_width(int fd);

/* Returns whether it shows colours, and NO_COLOR is not set. -1 is not a terminal. */
bool rb_heapprof_terminal_colour_p(int fd);

#endif
