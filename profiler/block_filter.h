#ifndef HEAPPROF_BLOCK_FILTER_H
#define HEAPPROF_BLOCK_FILTER_H
/* Whether an address may be that of a known block: one byte that says surely not, for
 * whoever frees a block and must not pay for a look at the table.
 *
 * Each byte counts the known blocks whose addresses lead to it (a counting Bloom filter of one
 * hash: Fan, Cao, Almeida, Broder 2000); one that has reached 255 stays.
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
