#ifndef HEAPPROF_ALLOCATOR_H
#define HEAPPROF_ALLOCATOR_H
#include <stdbool.h>
#include <stdint.h>

/* What malloc says of itself, in bytes, in memory or not. */
struct heapprof_allocator {
    bool     known;        /* false: it does not tell, and the rest is 0 */
    uint64_t blocks;       /* in use */
    uint64_t large_blocks; /* of these, those in mappings of their own */
    uint64_t free_blocks;  /* kept for later */
};

/* Asks it. At the first call it is asked for a block, to know who it is. */
struct heapprof_allocator rb_heapprof_allocator_read(void);

#endif
