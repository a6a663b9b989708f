#ifndef HEAPPROF_GC_USES_H
#define HEAPPROF_GC_USES_H
/* uses.h - who uses dead objects; compiled inside gc.c. */
#include "gc/book/state.h"

/* Begins to hold back dead objects, if the settings say so, and with memcheck to see their uses.
 * All ractors are stopped, and a change has begun. No free list is cut yet. */
static void uses_start(void);

/* The end of that. All ractors are stopped, and a change has begun. */
static void uses_stop(void);

#endif
