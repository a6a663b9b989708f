#ifndef HEAPPROF_PIECES_H
#define HEAPPROF_PIECES_H
/* Copies of the pieces of all blocks, for a snapshot. */
#include "profiler/copies.h"

/* Copies the pieces of the block with this entry, if it is one; blocks are held. */
void rb_heapprof_pieces_copy(struct heapprof_copies *copies, uint32_t entry);

/* When all have been copied: puts them into the order that rows are made in, each with the stack of its
 * owner, and counts them in facts.live_samples. False when there is no memory. */
bool rb_heapprof_pieces_sort(struct heapprof_copies *copies);

#endif
