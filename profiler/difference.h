#ifndef HEAPPROF_DIFFERENCE_H
#define HEAPPROF_DIFFERENCE_H
/* Which rows changed from one snapshot to another, and whether any did; the peak of a snapshot. */
#include "profiler/snapshot.h"

/* A snapshot with the values of later minus those of earlier, which may be below 0. Its facts
 * are those of later. Rows that differ only in age become one row without an age. Rows that
 * have not changed are left out. It has owners, memsizes and rungs if both have them. Both
 * snapshots stay as they are, and may be of different runs. Returns NULL if there is no memory.
 * Needs no lock. Part of the C API as it is. */
__attribute__((__visibility__("default")))
struct heapprof_snapshot *
rb_heapprof_snapshot_difference(const struct heapprof_snapshot *later,
                                const struct heapprof_snapshot *earlier);

/* Returns a copy of the snapshot without the things that the other does not know: owners,
 * memsizes, rungs. Returns NULL if there is no memory. Needs no lock. */
struct heapprof_snapshot *rb_heapprof_snapshot_comparable(const struct heapprof_snapshot *snapshot,
                                                          const struct heapprof_snapshot *other);

/* What was alive at the peak, as if the snapshot had been taken then: without ages and owners, and
 * nothing is dead. There is a peak (facts). Returns NULL if there is no memory. Needs no lock. */
struct heapprof_snapshot *rb_heapprof_snapshot_at_peak(const struct heapprof_snapshot *snapshot);

/* Sets *equal to whether both have the same rows, as a file has them: in any order, with rows
 * that look alike as one. It does not matter when they were taken. Returns false, with *equal
 * not set, if there is no memory. Needs no lock. */
bool rb_heapprof_snapshot_equal_p(const struct heapprof_snapshot *one,
                                  const struct heapprof_snapshot *other, bool *equal);

#endif
