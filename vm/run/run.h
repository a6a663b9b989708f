#ifndef HEAPPROF_VM_RUN_H
#define HEAPPROF_VM_RUN_H
#include "ruby/ruby.h"
#include "profiler/options.h"

struct heapprof_snapshot;

/* rb_heapprof_start for settings already known to be good. False: it is running. */
bool rb_heapprof_start_with(const struct heapprof_options *options);

/* How who takes a snapshot lets others run meanwhile. */
struct heapprof_others {
    /* Lets them run between two slices. May jump out. */
    void (*between)(void);
    /* Lets them run while work is done, which needs no GVL; or leaves it undone, when that cannot be now. */
    void (*beside)(void *(*work)(void *data), void *data);
};

/* rb_heapprof_snapshot, which lets others run (NULL: it does not). */
struct heapprof_snapshot *rb_heapprof_snapshot_beside(unsigned int with, const struct heapprof_others *others);

/* The profile of one object: a row with its stack, class and age. *snapshot is NULL when
 * the object is not sampled. False: out of memory. Free the snapshot. */
bool rb_heapprof_snapshot_object(VALUE object, struct heapprof_snapshot **snapshot);

/* Gives the samplers this seed, and the intervals of rb_heapprof.options. */
void rb_heapprof_seed(uint64_t seed);

/* A seed from the system; never fails. */
uint64_t rb_heapprof_random_seed(void);

#endif
