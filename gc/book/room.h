#ifndef HEAPPROF_GC_ROOM_H
#define HEAPPROF_GC_ROOM_H
/* room.h - room in the tables, and the automatic interval, for the handlers in gc/; compiled
 * inside gc.c. rb_heapprof_gc_make_room is in state.h. */
#include "gc/book/state.h"

/* Comes with each sample, where room may be made. Thins a little of what is still to be thinned;
 * with an automatic interval it may begin that. Merges dead code when there is much. */
static void follow_samples(void);

/* Inside a GC. With an automatic interval, halves the intervals if a major GC has left too few
 * samples. */
static void refine(void);

#endif
