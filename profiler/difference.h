#ifndef HEAPPROF_DIFFERENCE_H
#define HEAPPROF_DIFFERENCE_H
/* What changed from one snapshot to another. */
#include "profiler/snapshot.h"

/* A snapshot with the values of later minus those of earlier, which may be below 0, and the facts
 * of later. Rows alike in all but their age are one, without an age; those that have not changed
 * are left out. Of owners, memsize and rungs it has what both have. Both stay as they are, and may
 * be of different runs. NULL when there is no memory. Needs no lock. Part of the C API as it is. */
__attribute__((__visibility__("default")))
struct heapprof_snapshot *
rb_heapprof_snapshot_difference(const struct heapprof_snapshot *later,
                                const struct heapprof_snapshot *earlier);

#endif
