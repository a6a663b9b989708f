#ifndef HEAPPROF_GC_QUARANTINE_H
#define HEAPPROF_GC_QUARANTINE_H
/* quarantine.h - the slots of dead objects, held back; compiled inside gc.c. */
#include "gc/book/state.h"

/* Begins to hold back what dies, if the settings say so. All ractors are stopped. */
static void quarantine_start(void);

/* Lets everything go. All ractors are stopped, and a change has begun. */
static void quarantine_stop(void);

#endif
