#ifndef HEAPPROF_VM_TAKE_H
#define HEAPPROF_VM_TAKE_H
#include "ruby/ruby.h"

struct heapprof_others;
struct heapprof_snapshot;

/* Takes a snapshot, as rb_heapprof_snapshot does, and lets other threads run meanwhile, unless
 * `others` is NULL. Returns NULL if the profiler is off, memory is short, or an interrupt jumped
 * out of others->between; then *jump is the tag that the caller has to jump to (rb_jump_tag),
 * else 0. */
struct heapprof_snapshot *
rb_heapprof_snapshot_beside(unsigned int with, const struct heapprof_others *others, int *jump);

/* Takes the profile of one object: a row with its stack, class and age. *snapshot is NULL if the
 * object is not sampled. Returns false if memory is short. The caller frees the snapshot. */
bool rb_heapprof_snapshot_object(VALUE object, struct heapprof_snapshot **snapshot);

#endif
