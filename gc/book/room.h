#ifndef HEAPPROF_GC_ROOM_H
#define HEAPPROF_GC_ROOM_H
/* room.h - room in the tables, and the automatic interval, for the handlers in gc/; compiled inside gc.c.
 * rb_heapprof_gc_make_room is in state.h. */
#include "gc/book/state.h"

/* At each sample, where room may be made: thins a little of what is still to be thinned; with an automatic interval
 * that may be all there is; and merges dead code when there is much. */
static void follow_samples(void);

/* Inside a GC: with an automatic interval it samples finer from now on, where a major GC has found too little. */
static void refine(void);

#endif
