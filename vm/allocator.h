#ifndef HEAPPROF_VM_ALLOCATOR_H
#define HEAPPROF_VM_ALLOCATOR_H
#include "profiler/ladder.h"

/* Fills in what malloc says of itself (struct heapprof_measured), where it is one that tells. At the
 * first call it is asked for a block, to know who it is. */
void rb_heapprof_allocator_read(struct heapprof_measured *measured);

#endif
