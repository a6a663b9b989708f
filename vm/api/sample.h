#ifndef HEAPPROF_VM_SAMPLE_H
#define HEAPPROF_VM_SAMPLE_H
#include "profiler/snapshot.h"

/* Defines HeapProfile::Sample and HeapProfile::Frame. */
void rb_heapprof_sample_define(VALUE profile_class);

/* Yields a Sample for each row. The caller keeps the snapshot alive. Raises NoMemoryError, and
 * what the block raises. */
void rb_heapprof_sample_each(const struct heapprof_snapshot *snapshot);

/* The stack as an Array of Frames, innermost first. */
VALUE rb_heapprof_sample_frames(const struct heapprof_snapshot *snapshot, uint32_t stack);

#endif
