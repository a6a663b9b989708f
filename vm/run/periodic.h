#ifndef HEAPPROF_VM_PERIODIC_H
#define HEAPPROF_VM_PERIODIC_H
#include "ruby/ruby.h"
#include "profiler/series.h"

/* Returns one line that says why this process cannot write the files that the options ask for
 * (every, signal), or NULL if it can. The line may be in `message`. Needs the GVL. */
const char *
rb_heapprof_periodic_refusal(const struct heapprof_options *options, char *message, size_t size);

/* Writes the current directory, to which names of these files are relative, to `directory`; "" if
 * none is needed. Returns 0, or errno if the first file could not be written. Needs the GVL. */
int
rb_heapprof_periodic_place(const struct heapprof_options *options, char *directory, size_t size);

/* Writes these files from here on. `series` names them; the caller leaves it alone until
 * rb_heapprof_own_thread_end. With NULL we make our own series, for the template in options,
 * relative to `directory`. Does nothing if the options have neither every nor signal. Returns
 * false if the signal was taken meanwhile. Needs the GVL. */
bool rb_heapprof_periodic_start(const struct heapprof_options *options,
                                struct heapprof_series *series, const char *directory);

/* Ends that. The signal does what it did before. A file that is being written is finished later. */
void rb_heapprof_periodic_stop(void);

/* Called in the child of a fork, which goes on with a thread, a time and files of its own. */
void rb_heapprof_periodic_after_fork(void);

#endif
