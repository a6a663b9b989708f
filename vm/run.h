#ifndef HEAPPROF_VM_RUN_H
#define HEAPPROF_VM_RUN_H
#include "ruby/ruby.h"
#include "profiler/options.h"

struct heapprof_snapshot;

/* rb_heapprof_start for settings already known to be good. False: it is running. */
bool rb_heapprof_start_with(const struct heapprof_options *options);

/* rb_heapprof_snapshot, which calls between (NULL: nothing) between two slices of a walk. It may
 * jump out. */
struct heapprof_snapshot *rb_heapprof_snapshot_between(unsigned int with, void (*between)(void));

/* The profile of one object: a row with its stack, class and age. *snapshot is NULL when
 * the object is not sampled. False: out of memory. Free the snapshot. */
bool rb_heapprof_snapshot_object(VALUE object, struct heapprof_snapshot **snapshot);

/* Gives the samplers this seed, and the intervals of rb_heapprof.options. */
void rb_heapprof_seed(uint64_t seed);

/* A seed from the system; never fails. */
uint64_t rb_heapprof_random_seed(void);

/* Nanoseconds since the epoch. */
int64_t rb_heapprof_wall_clock_ns(void);

#endif
