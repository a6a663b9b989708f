#ifndef HEAPPROF_BELL_H
#define HEAPPROF_BELL_H
#include <stdbool.h>
#include <stdint.h>

/* What wakes the one thread of ours that waits: a call, a signal to the process, or the time.
 * There is one for the process. It takes no descriptor, which a program that closes all it has
 * would close. */

#define HEAPPROF_BELL_SIGNALS 2 /* which: below it */

/* Before its first use; and in the child of a fork, where nobody waits. What has rung is
 * forgotten, but not a signal that has come to the child already. */
void rb_heapprof_bell_init(void);

/* Anywhere, in a signal handler, too. Rung twice before anybody waits is rung twice. */
void rb_heapprof_bell_ring(void);

/* Returns when it has rung, or at that moment (nanoseconds of rb_heapprof_bell_now). */
void rb_heapprof_bell_wait(int64_t until_ns);

/* Nanoseconds of a clock that never is set. */
int64_t rb_heapprof_bell_now(void);

/* From now on this signal rings, and does nothing else. 0, or errno; EBUSY: C code has a
 * handler of its own for it, or it rings already as another. MRI's are no such handlers if the
 * caller says so. */
int rb_heapprof_bell_take_signal(unsigned which, int number, bool handled_by_ruby);

/* The signal does what it did before, unless somebody else has taken it meanwhile. */
void rb_heapprof_bell_give_signal(unsigned which);

/* Whether one has come since the last question. */
bool rb_heapprof_bell_signalled_p(unsigned which);

/* Whether the signal that was taken is still ours. */
bool rb_heapprof_bell_has_signal_p(unsigned which);

#endif
