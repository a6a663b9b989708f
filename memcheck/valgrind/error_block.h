#ifndef HEAPPROF_MEMCHECK_ERROR_BLOCK_H
#define HEAPPROF_MEMCHECK_ERROR_BLOCK_H
/* Finds the block that an error is about, from what Valgrind says about the address:
 *
 *     Address 0x522d055 is 0 bytes after a block of size 21 alloc'd
 *                          3 bytes inside ...
 *                          8 bytes before ...
 */
#include <stdbool.h>
#include <stdint.h>

struct memcheck_error_block {
    uint64_t address;
    int64_t  bytes;
};

/* Returns false if the text names no block, or a block that has been freed. */
bool memcheck_error_block_read(const char *text, struct memcheck_error_block *block);

#endif
