/* place.c - where in the struct of typed data a reference is. Compiled inside gc.c.
 *
 * The struct is as long as the rest of its slot, or as its block of malloc. A word behind that
 * belongs to something else. The words around a block tell its length (os/chunk.h). */
#include "gc/wbcheck/wbcheck.h"
#include "os/chunk.h"
#include "os/peek.h"

#define PLACE_READ_BYTES 4096
#define PLACE_STRUCT_MOST ((size_t)1 << 20)

/* For a struct that begins in the middle of a block, or is no block of glibc's. */
#define PLACE_GUESS_BYTES 1024

HEAPPROF_COLD static bool
place_word_at(uintptr_t address, uintptr_t *word, void *fd)
{
    return rb_heapprof_peek(*(int *)fd, address, word, sizeof(*word)) == sizeof(*word);
}

HEAPPROF_COLD static size_t
struct_bytes(int fd, VALUE parent, uintptr_t begin)
{
    size_t bytes;

    if (RTYPEDDATA_EMBEDDED_P(parent)) return parent + rb_gc_obj_slot_size(parent) - begin;
    bytes = rb_heapprof_chunk_bytes(begin, place_word_at, &fd);
    if (bytes == 0) return PLACE_GUESS_BYTES;
    return bytes < PLACE_STRUCT_MOST ? bytes : PLACE_STRUCT_MOST;
}

HEAPPROF_COLD static long
find_word(int fd, uintptr_t begin, size_t bytes, VALUE child)
{
    VALUE words[PLACE_READ_BYTES / sizeof(VALUE)];

    for (size_t at = 0; at < bytes; at += sizeof(words)) {
        size_t part = bytes - at < sizeof(words) ? bytes - at : sizeof(words);
        size_t count = rb_heapprof_peek(fd, begin + at, words, part) / sizeof(VALUE);
        for (size_t i = 0; i < count; i++) {
            if (words[i] == child) return (long)(at + i * sizeof(VALUE));
        }
        if (count < part / sizeof(VALUE)) return -1;
    }
    return -1;
}

HEAPPROF_COLD long
rb_heapprof_gc_wbcheck_offset(VALUE parent, VALUE child)
{
    uintptr_t begin = (uintptr_t)RTYPEDDATA_GET_DATA(parent);
    int fd = rb_heapprof_peek_open();
    long offset = find_word(fd, begin, struct_bytes(fd, parent, begin), child);

    rb_heapprof_peek_close(fd);
    return offset;
}
