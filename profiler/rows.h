#ifndef HEAPPROF_ROWS_H
#define HEAPPROF_ROWS_H
/* From samples to rows: what rb_heapprof_snapshot_take does when the tables are copied. */
#include "profiler/snapshot.h"

/* Adds the rows of all sites to a snapshot without any, and counts facts.live_samples; false
 * when there is no memory. */
bool rb_heapprof_rows_add(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables,
                          const struct heapprof_asks *asks);

/* GCs survived, rounded down as rows have it. */
uint32_t rb_heapprof_rows_age(uint64_t gc_count, uint32_t birth_gc);

#endif
