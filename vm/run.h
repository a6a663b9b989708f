#ifndef HEAPPROF_VM_RUN_H
#define HEAPPROF_VM_RUN_H
#include "profiler/options.h"

/* rb_heapprof_start for settings already known to be good. False: it is running. */
bool rb_heapprof_start_with(const struct heapprof_options *options);

/* A seed from the system; never fails. */
uint64_t rb_heapprof_random_seed(void);

#endif
