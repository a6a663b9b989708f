#ifndef HEAPPROF_BELL_H
#define HEAPPROF_BELL_H
#include <stdbool.h>
#include <stdint.h>

/* What wakes the one thread of ours that waits: a call, a signal to the process, or the time. A
 * process has one bell. It uses no descriptor, because some programs close all descriptors they
 * have. */

#define HEAPPROF_BELL_SIGNALS 4 /* a signal's `which` is below this */

/* The caller calls this before the first use, and in the child of a fork, where no thread
 * waits. Forgets earlier rings, except a signal that has already come to the child. */
void rb_heapprof_bell_init(void);

/* Rings. May be called anywhere, in a signal handler, too. Two rings before a wait end two
 * waits. */
void rb_heapprof_bell_ring(void);

/* Waits until the bell rings, or until that moment (nanoseconds of rb_heapprof_bell_now). */
void rb_heapprof_bell_wait(int64_t until_ns);

/* Returns nanoseconds of a clock that no program can set. */
int64_t rb_heapprof_bell_now(void);

/* From here on this signal rings the bell and does nothing else. Returns 0 or an errno. EBUSY
 * means that C code has a handler for the signal, or that the signal already rings under
 * another `which`. With handled_by_ruby a handler of MRI is replaced. */
int rb_heapprof_bell_take_signal(unsigned which, int number, bool handled_by_ruby);

/* Lets the signal do what it did before, unless other code has taken it meanwhile. */
void rb_heapprof_bell_give_signal(unsigned which);

/* Returns whether that signal has come since the last call. */
bool rb_heapprof_bell_signalled_p(unsigned which);

/* Returns whether the signal that was taken is still ours. */
bool rb_heapprof_bell_has_signal_p(unsigned which);

#endif
