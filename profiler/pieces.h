#ifndef HEAPPROF_PIECES_H
#define HEAPPROF_PIECES_H
/* The pieces of all blocks at one moment, for a snapshot: copies, each with whom it counts under. */
#include "profiler/native_leaks.h"
#include "profiler/snapshot.h"

struct heapprof_copied_piece {
    struct heapprof_piece piece;
    uint32_t number;       /* of the piece */
    uint32_t owner_class;  /* identity; 0: not known */
    uint32_t owner_stack;  /* 0: the owner is not sampled */
};

struct heapprof_pieces {
    struct heapprof_copied_piece *all; /* by site, then owner, then number */
    size_t capacity;
    size_t count;
};

/* Fills pieces, which are zero, in memory of the snapshot's, and counts them in facts.live_samples.
 * Asks once for blocks to be held. Pieces that nobody is known to hold are told to leaks; without
 * facts.owners that is so of all. False when there is no memory. */
bool rb_heapprof_pieces_take(struct heapprof_pieces *pieces, struct heapprof_snapshot *snapshot,
                             const struct heapprof_tables *tables, const struct heapprof_asks *asks,
                             struct heapprof_native_leaks *leaks);

void rb_heapprof_pieces_free(struct heapprof_pieces *pieces, struct heapprof_mem *mem);

#endif
