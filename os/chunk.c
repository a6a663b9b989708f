/* chunk.c - whether a word is the address of a glibc block, and how long the block is. */
#include "os/chunk.h"

#define NEXT_TO_ONE_IN_USE 1
#define MAPPED 2
#define FLAGS 7
#define PAGE_BYTES 4096

/* Returns whether the next chunk in the chunk's list leads back to it, and the previous chunk
 * too. A program's own numbers do not. */
static bool
in_list_p(uintptr_t chunk, heapprof_word_at *word_at, void *data)
{
    const size_t word = sizeof(uintptr_t);
    uintptr_t next, before, back, forth;

    return word_at(chunk + 2 * word, &next, data) && word_at(chunk + 3 * word, &before, data) &&
           word_at(next + 3 * word, &back, data) && back == chunk &&
           word_at(before + 2 * word, &forth, data) && forth == chunk;
}

/* Returns whether a free chunk of glibc begins there, and not a block. glibc's data has the
 * lists of free chunks. Before a free chunk lies the end of another block. */
static bool
free_chunk_p(uintptr_t chunk, heapprof_word_at *word_at, void *data)
{
    uintptr_t size, again, next;

    if (!word_at(chunk + sizeof(size), &size, data)) return false;
    size &= ~(uintptr_t)FLAGS;
    return size >= 2 * HEAPPROF_CHUNK_HEADER_BYTES && size % HEAPPROF_CHUNK_HEADER_BYTES == 0 &&
           !(size >> 40) && word_at(chunk + size, &again, data) && again == size &&
           word_at(chunk + size + sizeof(next), &next, data) && !(next & NEXT_TO_ONE_IN_USE) &&
           in_list_p(chunk, word_at, data);
}

/* The last chunk of a heap has such a size, and so does the mark of the heap's end. */
static bool
size_in_heap_p(uintptr_t size)
{
    return !(size & MAPPED) && (size & ~(uintptr_t)FLAGS) % HEAPPROF_CHUNK_HEADER_BYTES == 0 &&
           !(size >> 40);
}

/* Returns whether a chunk that says it is a mapping of its own can be one. Such a mapping is
 * whole pages. The word before the chunk's size says how far the chunk is from the beginning of
 * the pages. */
static bool
mapping_p(uintptr_t chunk, size_t bytes, heapprof_word_at *word_at, void *data)
{
    uintptr_t before;

    return word_at(chunk, &before, data) && (chunk - before) % PAGE_BYTES == 0 &&
           (before + bytes) % PAGE_BYTES == 0;
}

size_t
rb_heapprof_chunk_bytes_in_heap(uintptr_t block, uintptr_t heap_end, heapprof_word_at *word_at,
                                void *data)
{
    uintptr_t size, next;
    size_t bytes = rb_heapprof_chunk_bytes(block, word_at, data);

    if (bytes == 0 || block >= heap_end || bytes > heap_end - block) return 0;
    if (!word_at(block - sizeof(size), &size, data) || !size_in_heap_p(size)) return 0;
    return word_at(block + bytes, &next, data) && !size_in_heap_p(next) ? 0 : bytes;
}

size_t
rb_heapprof_chunk_bytes(uintptr_t block, heapprof_word_at *word_at, void *data)
{
    const size_t header_bytes = HEAPPROF_CHUNK_HEADER_BYTES;
    uintptr_t size, next;

    if (block % header_bytes || !word_at(block - sizeof(size), &size, data)) return 0;
    if (free_chunk_p(block, word_at, data)) return 0;
    size_t bytes = size & ~(uintptr_t)FLAGS;
    if (bytes < 2 * header_bytes || bytes % header_bytes || bytes >> 40) return 0;
    if (size & MAPPED)
        return mapping_p(block - header_bytes, bytes, word_at, data) ? bytes - header_bytes : 0;
    if (!word_at(block - sizeof(size) + bytes, &next, data) || !(next & NEXT_TO_ONE_IN_USE))
        return 0;
    return bytes - sizeof(size);
}
