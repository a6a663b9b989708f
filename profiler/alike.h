#ifndef HEAPPROF_ALIKE_H
#define HEAPPROF_ALIKE_H
/* Sites that look alike in a profile become one site. Each row of a snapshot then differs from all
 * other rows in something that is shown, as each sample of a file does (pprof_tables.h). */
#include "profiler/copies.h"

/* Merges such sites in copies that are complete. The caller calls it before it sorts pieces and
 * makes rows. Returns false if there is no memory. */
bool rb_heapprof_alike_merge(struct heapprof_copies *copies);

#endif
