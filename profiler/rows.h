#ifndef HEAPPROF_ROWS_H
#define HEAPPROF_ROWS_H
/* From copies of the tables to the rows of a snapshot. */
#include "profiler/copies.h"

/* Adds the rows of all sites to the snapshot of the copies, which has no rows yet. Returns false if
 * there is no memory. */
bool rb_heapprof_rows_add(const struct heapprof_copies *copies);

/* How many GCs an object has survived, rounded down as in rows. */
uint32_t rb_heapprof_rows_age(uint64_t gc_count, uint32_t birth_gc);

#endif
