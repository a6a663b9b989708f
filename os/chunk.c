/* chunk.c - is that word the address of a block of glibc's, and how long is it? */
#include "chunk.h"

#define NEXT_TO_ONE_IN_USE 1
#define MAPPED 2
#define FLAGS 7
#define PAGE_BYTES 4096

/* Whether that is no block, but the header of one that glibc has to give out: the lists of such are in
 * its data. What lies before it is the end of another block. */
static bool
free_chunk_p(uintptr_t chunk, heapprof_word_at *word_at, void *data)
{
    uintptr_t size, again, next;

    if (!word_at(chunk + sizeof(size), &size, data)) return false;
    size &= ~(uintptr_t)FLAGS;
    return size >= 2 * HEAPPROF_CHUNK_HEADER_BYTES && size % HEAPPROF_CHUNK_HEADER_BYTES == 0 && !(size >> 40) &&
           word_at(chunk + size, &again, data) && again == size &&
           word_at(chunk + size + sizeof(next), &next, data) && !(next & NEXT_TO_ONE_IN_USE);
}

size_t
rb_heapprof_chunk_bytes(uintptr_t block, heapprof_word_at *word_at, void *data)
{
    const size_t header_bytes = HEAPPROF_CHUNK_HEADER_BYTES;
    uintptr_t size, before, next;

    if (block % header_bytes || !word_at(block - sizeof(size), &size, data)) return 0;
    if (free_chunk_p(block, word_at, data)) return 0;
    size_t bytes = size & ~(uintptr_t)FLAGS;
    if (bytes < 2 * header_bytes || bytes % header_bytes || bytes >> 40) return 0;
    if (size & MAPPED) {
        bool whole = word_at(block - header_bytes, &before, data) && (before + bytes) % PAGE_BYTES == 0;
        return whole ? bytes - header_bytes : 0;
    }
    if (!word_at(block - sizeof(size) + bytes, &next, data) || !(next & NEXT_TO_ONE_IN_USE)) return 0;
    return bytes - sizeof(size);
}
