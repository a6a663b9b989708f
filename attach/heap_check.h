#ifndef ATTACH_HEAP_CHECK_H
#define ATTACH_HEAP_CHECK_H
/* The border control for tables that were copied from another process. The code that adds tables up
 * follows their numbers without checks, for inside a process the profiler keeps them right. Tables
 * from outside may hold anything. */
#include "profiler/tables.h"

/* Returns NULL if every number leads to an existing entry, every text lies within the texts, and
 * every stack leads outwards to its end. Otherwise returns a few words that say what is wrong. */
const char *attach_heap_check(const struct heapprof_tables *tables);

#endif
