#ifndef HEAPPROF_CHECKSUM_H
#define HEAPPROF_CHECKSUM_H
/* What is in the tables, in 64 bits: by which a debug build sees that they have changed (gc/book/sequence.c). Takes time in
 * proportion to them. A copy of the entries that is being made meanwhile (base/still.h) makes no difference. */
#include "profiler/tables.h"

/* Of blocks and reports, which are under the blocks' lock. */
uint64_t rb_heapprof_checksum_blocks(const struct heapprof_tables *tables);

/* Of all others. */
uint64_t rb_heapprof_checksum_tables(const struct heapprof_tables *tables);

#endif
