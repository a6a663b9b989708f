#ifndef HEAPPROF_ROWS_H
#define HEAPPROF_ROWS_H
/* Makes the rows of a snapshot from copies of the tables. */
#include "profiler/copies.h"

/* Adds the rows of all sites to the snapshot of the copies, which has no rows yet. Returns false if
 * there is no memory. */
bool rb_heapprof_rows_add(struct heapprof_copies *copies);

/* Returns how many GCs an object has survived, rounded down as in rows. */
uint32_t rb_heapprof_rows_age(uint64_t gc_count, uint32_t birth_gc);

#endif
