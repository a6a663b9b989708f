#ifndef HEAPPROF_VM_RUN_H
#define HEAPPROF_VM_RUN_H
#include "ruby/ruby.h"
#include "profiler/options.h"

/* rb_heapprof_start for options that are known to be valid. Returns false if the profiler runs
 * already. */
bool rb_heapprof_start_with(const struct heapprof_options *options);

/* Ends the run, if there is one. rb_heapprof_stop also ends its periodic files. */
void rb_heapprof_run_stop(void);

/* Gives the samplers this seed, and the intervals of the current run's options. */
void rb_heapprof_seed(uint64_t seed);

/* A seed from the system; never fails. */
uint64_t rb_heapprof_random_seed(void);

#endif
