#ifndef HEAPPROF_ALLOCATOR_H
#define HEAPPROF_ALLOCATOR_H
#include <stdbool.h>
#include <stdint.h>

/* What malloc says about itself, in bytes, whether these are in memory or not. */
struct heapprof_allocator {
    bool     known;        /* false: malloc does not tell, and the rest is 0 */
    uint64_t blocks;       /* bytes in use */
    uint64_t large_blocks; /* the part of blocks that is in mappings of its own */
    uint64_t free_blocks;  /* free bytes that malloc keeps for later */
};

/* Asks malloc. The first call also asks it for a block, to find out which malloc it is. */
struct heapprof_allocator rb_heapprof_allocator_read(void);

/* Before a thread of ours is made: where address space is limited (RLIMIT_AS), threads that malloc
 * does not know yet share the arenas that there are. glibc sets 64 MB of address space aside for
 * the arena of each thread. What the user says of arenas counts. */
void rb_heapprof_allocator_share_arenas(void);

#endif
