#ifndef HEAPPROF_VM_OWN_THREAD_H
#define HEAPPROF_VM_OWN_THREAD_H
#include <stdbool.h>
#include <stdint.h>
#include "vm/thread/borrow.h"

/* What the thread is there for; each may have a signal. */
enum heapprof_duty_name { HEAPPROF_DUTY_PROFILE, HEAPPROF_DUTY_GRAPH, HEAPPROF_DUTIES };

/* Both are called by the thread. */
struct heapprof_duty {
    /* Whether there is something to do now; if not, *until_ns (of rb_heapprof_bell_now) is when to ask again, or sooner. */
    bool (*wanted_p)(int64_t *until_ns);
    void (*work)(void);
};

/* False: there can be none, as all postponed jobs of MRI are taken. Needs the GVL, as all that follows but borrow. */
bool rb_heapprof_own_thread_possible_p(void);

/* From now on it has that duty; the first one makes the thread. What is given stays. */
void rb_heapprof_own_thread_begin(enum heapprof_duty_name name, const struct heapprof_duty *duty);

/* It has that duty no more; what is under way is finished. */
void rb_heapprof_own_thread_stop(enum heapprof_duty_name name);

/* That signal asks for it: rb_heapprof_bell_signalled_p(name). 0, or errno; EBUSY: it is somebody else's. */
int rb_heapprof_own_thread_take_signal(enum heapprof_duty_name name, uint32_t number);

/* Waits until no work is under way, and lends the GVL for it. */
void rb_heapprof_own_thread_wait(void);

/* The same before the process ends: no work is begun after it. */
void rb_heapprof_own_thread_end(void);

/* In the child of a fork, where the thread is not: if it has a duty there is another as soon as a job runs. */
void rb_heapprof_own_thread_after_fork(void);

/* By the thread: rb_heapprof_borrow, of who will lend. */
void rb_heapprof_own_thread_borrow(rb_heapprof_borrowing_work *work, void *data);

#endif
