/* aside.c - malloc, or a roll of paper from which pieces are torn.
 *
 *     | size | block ....... | size | block ... |      | end
 *                                               ^ next
 *
 * The last block can grow in place, which is what a buffer of output does. A block is not given
 * back: the process ends soon. */
#include "base/aside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 16                  /* blocks are aligned to it; the size before a block takes one */

static struct {
    char *next, *end;            /* NULL: malloc */
} aside;

void
rb_heapprof_aside_begin(void *memory, size_t bytes)
{
    aside.next = memory;
    aside.end = aside.next + bytes / UNIT * UNIT;
}

static size_t *
size_of(void *block)
{
    return (size_t *)((char *)block - UNIT);
}

static size_t
rounded(size_t bytes)
{
    return bytes <= SIZE_MAX - UNIT ? (bytes + UNIT - 1) / UNIT * UNIT : SIZE_MAX;
}

static void *
tear(size_t bytes)
{
    size_t room = (size_t)(aside.end - aside.next);

    if (room < UNIT || rounded(bytes) > room - UNIT) return NULL;
    char *block = aside.next + UNIT;
    *size_of(block) = bytes;
    aside.next = block + rounded(bytes);
    return block;
}

static void *
resize(void *block, size_t bytes)
{
    size_t before = *size_of(block);
    char *place = block;

    if (place + rounded(before) == aside.next && rounded(bytes) <= (size_t)(aside.end - place)) {
        *size_of(block) = bytes;
        aside.next = place + rounded(bytes);
        return block;
    }
    void *larger = tear(bytes);
    if (larger) memcpy(larger, block, before < bytes ? before : bytes);
    return larger;
}

void *
rb_heapprof_aside_alloc(size_t bytes)
{
    return aside.next ? tear(bytes) : malloc(bytes);
}

void *
rb_heapprof_aside_zeroed(size_t count, size_t bytes)
{
    if (!aside.next) return calloc(count, bytes);
    if (bytes && count > SIZE_MAX / bytes) return NULL;
    void *block = tear(count * bytes);
    if (block) memset(block, 0, count * bytes);
    return block;
}

void *
rb_heapprof_aside_realloc(void *block, size_t bytes)
{
    if (!aside.next) return realloc(block, bytes);
    return block ? resize(block, bytes) : tear(bytes);
}

void
rb_heapprof_aside_free(void *block)
{
    if (!aside.next) free(block);
}
