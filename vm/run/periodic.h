#ifndef HEAPPROF_VM_PERIODIC_H
#define HEAPPROF_VM_PERIODIC_H
#include "ruby/ruby.h"
#include "profiler/series.h"

/* One line that says why the files that the options ask for (every, signal) cannot be written in this
 * process, in message; NULL: they can. Needs the GVL. */
const char *rb_heapprof_periodic_refusal(const struct heapprof_options *options, char *message, size_t size);

/* The directory that such names are relative to, the current one, of so many bytes; "" if none is needed. 0, or errno if
 * there could be no file of the first name. Needs the GVL. */
int rb_heapprof_periodic_place(const struct heapprof_options *options, char *directory, size_t size);

/* From now on writes them. A series of the caller's, who leaves it alone until rb_heapprof_own_thread_end; NULL: one of ours, for the
 * template in options, relative to the directory. Nothing happens without every and signal. False: the
 * signal was taken meanwhile. Needs the GVL. */
bool rb_heapprof_periodic_start(const struct heapprof_options *options, struct heapprof_series *series,
                                const char *directory);

/* Writes no more, and the signal does what it did before. What is being written is finished later. */
void rb_heapprof_periodic_stop(void);

/* In the child of a fork: it goes on with a thread, a time and files of its own. */
void rb_heapprof_periodic_after_fork(void);

#endif
