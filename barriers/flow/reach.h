#ifndef HEAPPROF_BARRIERS_REACH_H
#define HEAPPROF_BARRIERS_REACH_H
/* Which functions can be reached from one: those it calls, or passes on to be called, and so on. */
#include "barriers/program.h"

/* Marks all functions that can be reached from the Ruby method, or the C function, of that
 * name. Returns the mark, which stands in function->search until the next call, or 0 if there
 * is no such function. */
unsigned wb_reach_from_method(struct wb_program *program, const char *name);
unsigned wb_reach_from_function(struct wb_program *program, const char *name);

#endif
