#ifndef HEAPPROF_MEMCHECK_ERROR_BLOCK_H
#define HEAPPROF_MEMCHECK_ERROR_BLOCK_H
/* Which block an error is about, by what Valgrind says of the address:
 *
 *     Address 0x522d055 is 0 bytes after a block of size 21 alloc'd
 *                          3 bytes inside ...
 *                          8 bytes before ... */
#include <stdbool.h>
#include <stdint.h>

struct memcheck_error_block {
    uint64_t address;
    int64_t  bytes;
};

/* False: it says so of no block, or of one that has been freed. */
bool memcheck_error_block_read(const char *text, struct memcheck_error_block *block);

#endif
