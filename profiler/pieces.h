#ifndef HEAPPROF_PIECES_H
#define HEAPPROF_PIECES_H
/* Copies of the pieces of all blocks, for a snapshot. */
#include "profiler/copies.h"

/* Copies the pieces of the block with this entry, if the entry has a block. The caller holds
 * blocks. */
void rb_heapprof_pieces_copy(struct heapprof_copies *copies, uint32_t entry);

/* Called once all pieces are copied. Sorts them into the order in which rows are made, gives
 * each the stack of its owner, and counts them in facts.live_samples. Returns false if there is
 * no memory. */
bool rb_heapprof_pieces_sort(struct heapprof_copies *copies);

#endif
