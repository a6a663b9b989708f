#ifndef HEAPPROF_DIFFERENCE_H
#define HEAPPROF_DIFFERENCE_H
/* What changed from one snapshot to another, and whether anything did. */
#include "profiler/snapshot.h"

/* A snapshot with the values of later minus those of earlier, which may be below 0, and the facts
 * of later. Rows alike in all but their age are one, without an age; those that have not changed
 * are left out. Of owners, memsize and rungs it has what both have. Both stay as they are, and may
 * be of different runs. NULL when there is no memory. Needs no lock. Part of the C API as it is. */
__attribute__((__visibility__("default")))
struct heapprof_snapshot *
rb_heapprof_snapshot_difference(const struct heapprof_snapshot *later,
                                const struct heapprof_snapshot *earlier);

/* A copy of the snapshot without what the other does not know: owners, memsize, rungs. NULL when there is no memory.
 * Needs no lock. */
struct heapprof_snapshot *rb_heapprof_snapshot_comparable(const struct heapprof_snapshot *snapshot,
                                                          const struct heapprof_snapshot *other);

/* Whether both have the same rows, as a file has them: in any order, those that look alike as one; whenever they were
 * taken. False: no memory, and *equal is not set. Needs no lock. */
bool rb_heapprof_snapshot_equal_p(const struct heapprof_snapshot *one, const struct heapprof_snapshot *other, bool *equal);

#endif
