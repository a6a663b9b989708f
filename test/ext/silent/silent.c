/* silent.c - an allocator to be preloaded that tells nobody how much it has given out, and keeps
 * all that it gets back: blocks one after another, in a mapping with more room than a test needs.
 *
 *     | bytes | block ...   | bytes | block ...   | next
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_BYTES ((size_t)64 << 30)
#define ALIGNMENT 16

static _Atomic uintptr_t next;

static void
map_room(void)
{
    uintptr_t none = 0;
    void *room;

    room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) abort();
    if (!atomic_compare_exchange_strong(&next, &none, (uintptr_t)room)) munmap(room, ROOM_BYTES);
}

static size_t *
bytes_of(void *block)
{
    return (size_t *)block - 1;
}

void *
aligned_alloc(size_t alignment, size_t bytes)
{
    uintptr_t at, block;

    if (!atomic_load(&next)) map_room();
    if (alignment < ALIGNMENT) alignment = ALIGNMENT;
    if (bytes > ROOM_BYTES / 2) return NULL;
    at = atomic_fetch_add(&next, sizeof(size_t) + alignment + bytes);
    block = (at + sizeof(size_t) + alignment - 1) / alignment * alignment;
    *bytes_of((void *)block) = bytes;
    return (void *)block;
}

void *
malloc(size_t bytes)
{
    return aligned_alloc(ALIGNMENT, bytes);
}

/* No byte is given out twice, so all are zero. */
void *
calloc(size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? NULL : malloc(all);
}

void
free(void *block)
{
}

void *
realloc(void *block, size_t bytes)
{
    void *grown = malloc(bytes);

    if (grown && block) memcpy(grown, block, *bytes_of(block) < bytes ? *bytes_of(block) : bytes);
    return grown;
}

int
posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = aligned_alloc(alignment, bytes);
    return *block ? 0 : ENOMEM;
}

void *
memalign(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}

size_t
malloc_usable_size(void *block)
{
    return block ? *bytes_of(block) : 0;
}
