#ifndef HEAPPROF_VM_OWN_THREAD_H
#define HEAPPROF_VM_OWN_THREAD_H
#include <stdbool.h>
#include <stdint.h>
#include "vm/thread/borrow.h"

/* The duties of the background thread. Each may have a signal. */
enum heapprof_duty_name {
    HEAPPROF_DUTY_PROFILE,
    HEAPPROF_DUTY_GRAPH,
    HEAPPROF_DUTY_REQUEST,
    HEAPPROF_DUTY_MARK,
    HEAPPROF_DUTIES
};

/* The thread calls both functions. */
struct heapprof_duty {
    /* Whether there is work at present. If not, lowers *until_ns (of rb_heapprof_bell_now) to
     * when it is to be asked again at the latest. */
    bool (*wanted_p)(int64_t *until_ns);
    void (*work)(void);
};

/* All functions except possible_p, begin, stop and borrow need the GVL. */

/* Returns false if there can be no such thread, because all postponed jobs of MRI are taken. */
bool rb_heapprof_own_thread_possible_p(void);

/* Gives the thread that duty. The first duty makes the thread. *duty has to stay. */
void rb_heapprof_own_thread_begin(enum heapprof_duty_name name, const struct heapprof_duty *duty);

/* Takes the duty away. Work that has begun is finished. */
void rb_heapprof_own_thread_stop(enum heapprof_duty_name name);

/* Has the signal ask for the duty (rb_heapprof_bell_signalled_p). Returns 0, or errno; EBUSY if
 * the signal has a handler of the program or a library. */
int rb_heapprof_own_thread_take_signal(enum heapprof_duty_name name, uint32_t number);

/* Waits until the thread does no work. Lends it the GVL meanwhile. */
void rb_heapprof_own_thread_wait(void);

/* The same, before the process ends. No work begins after it. */
void rb_heapprof_own_thread_end(void);

/* Called in the child of a fork, which does not have the thread. If the thread has a duty, the
 * next postponed job makes a new one. */
void rb_heapprof_own_thread_after_fork(void);

/* Called by the thread: does the work under the GVL (rb_heapprof_borrow). */
void rb_heapprof_own_thread_borrow(rb_heapprof_borrowing_work *work, void *data);

#endif
