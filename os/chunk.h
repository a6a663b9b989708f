#ifndef HEAPPROF_CHUNK_H
#define HEAPPROF_CHUNK_H
/* What the words before a block of glibc's malloc say of it.
 *
 *     | size, flags | block ...... | size, flags | the next
 *                                            ^ 1: the block before it is in use
 *
 * The caller may ask about any word of memory. If it does not look like a block, it is not one. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAPPROF_CHUNK_HEADER_BYTES (2 * sizeof(uintptr_t))

/* Reads the word at that address. Returns false if nothing is mapped there. */
typedef bool heapprof_word_at(uintptr_t address, uintptr_t *word, void *data);

/* Returns how many bytes of the block can be used. Returns 0 if it does not look like a block
 * in use. */
size_t rb_heapprof_chunk_bytes(uintptr_t block, heapprof_word_at *word_at, void *data);

/* The same for a block in a heap that ends at heap_end. The block has no mapping of its own. */
size_t rb_heapprof_chunk_bytes_in_heap(uintptr_t block, uintptr_t heap_end,
                                       heapprof_word_at *word_at, void *data);

#endif
