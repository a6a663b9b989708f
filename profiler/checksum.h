#ifndef HEAPPROF_CHECKSUM_H
#define HEAPPROF_CHECKSUM_H
/* The content of the tables in 64 bits. By it a debug build sees whether they have changed
 * (gc/book/sequence.c). Takes time in proportion to the tables. A copy of the entries that is
 * being made meanwhile (base/still.h) makes no difference. */
#include "profiler/tables.h"

/* The content of blocks and reports, which are under the blocks' lock. */
uint64_t rb_heapprof_checksum_blocks(const struct heapprof_tables *tables);

/* The content of all other tables. */
uint64_t rb_heapprof_checksum_tables(const struct heapprof_tables *tables);

#endif
