#ifndef HEAPPROF_GC_QUARANTINE_H
#define HEAPPROF_GC_QUARANTINE_H
/* quarantine.h - the slots of dead objects, held back; compiled inside gc.c. */
#include "gc/book/state.h"

/* Begins to hold back what dies, if the settings say so. All ractors are stopped, and a change has
 * begun. No free list is cut yet. */
static void quarantine_start(void);

/* Lets everything go. All ractors are stopped, and a change has begun. */
static void quarantine_stop(void);

/* A GC has begun: the oldest are let go. In a change. */
static void quarantine_begun(struct rb_objspace *objspace);

/* Whether dead objects are covered so that a touch is a fault (cover.c). */
static bool quarantine_faults_p(void);

/* Whether Valgrind makes them inaccessible. */
static bool quarantine_by_valgrind_p(void);

/* Somebody has touched a page of memory that is inaccessible. If it is one of dead objects, it is
 * made accessible. In a handler of SIGSEGV, on any thread. */
enum touch {
    TOUCHED_ELSEWHERE,    /* it is not one of these */
    TOUCHED_BY_COLLECTOR, /* it may go on */
    TOUCHED_BY_PROGRAM
};
static enum touch touch(uintptr_t address);

#endif
