#ifndef HEAPPROF_TERMINAL_H
#define HEAPPROF_TERMINAL_H
/* Whether a descriptor is a terminal, and of what kind. Both functions look at the environment.
 */
#include <stdbool.h>

/* Its columns: those of COLUMNS, which counts for any descriptor; else the terminal's, if need
 * be a guess. Returns 0 if it is no terminal: lines then stay as long as they are. */
unsigned rb_heapprof_terminal_width(int fd);

/* Whether it shows colours, and NO_COLOR is not set. -1 is no terminal. */
bool rb_heapprof_terminal_colour_p(int fd);

#endif
