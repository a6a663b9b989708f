#ifndef HEAPPROF_ALIKE_H
#define HEAPPROF_ALIKE_H
/* Sites that look alike in a profile are one: each row of a snapshot then differs from all others
 * in something that is shown, as each sample of a file does (pprof_tables.h). */
#include "profiler/copies.h"

/* Makes them one in copies that are complete, before their pieces are sorted and rows are made of
 * them. False when there is no memory. */
bool rb_heapprof_alike_merge(struct heapprof_copies *copies);

#endif
