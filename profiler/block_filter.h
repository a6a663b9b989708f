#ifndef HEAPPROF_BLOCK_FILTER_H
#define HEAPPROF_BLOCK_FILTER_H
/* Whether an address may be that of a known block. If its byte is 0, the block is surely not known.
 * So free pays for one byte, not for a look at the table.
 *
 * Each byte counts the known blocks whose addresses lead to it. A byte that has reached 255 stays.
 * This is a counting Bloom filter with one hash (Fan, Cao, Almeida, Broder 2000).
 */
#include <stddef.h>
#include <stdint.h>

#define HEAPPROF_BLOCK_FILTER_SIZE 65536

/* Blocks begin every 16 bytes. */
static inline size_t
rb_heapprof_block_filter_index(uintptr_t address)
{
    return (address >> 4) % HEAPPROF_BLOCK_FILTER_SIZE;
}

#endif
