#ifndef HEAPPROF_BARRIERS_REACH_H
#define HEAPPROF_BARRIERS_REACH_H
/* Which functions one calls, or gives to others to call, and those again. */
#include "barriers/program.h"

/* Of those that Ruby calls by that name; of those that C does. Each that is reached has the number that is returned as its
 * search, until the next one. 0: there is none of that name. */
unsigned wb_reach_from_method(struct wb_program *program, const char *name);
unsigned wb_reach_from_function(struct wb_program *program, const char *name);

#endif
