#ifndef HEAPPROF_TERMINAL_H
#define HEAPPROF_TERMINAL_H
/* The terminal that a descriptor may be. Both look at the environment. */
#include <stdbool.h>

/* Its columns, if need be a guess, or those of COLUMNS, which says so of what is no terminal,
 * too; 0: it is none, and lines are as long as they are. */
unsigned rb_heapprof_terminal_width(int fd);

/* Whether it shows colours, and nobody has said NO_COLOR. -1 is no terminal. */
bool rb_heapprof_terminal_colour_p(int fd);

#endif
