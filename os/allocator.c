/* allocator.c - how many bytes malloc has given out and how many it keeps, by its own account.
 *
 *     glibc       mallinfo2: blocks in its arenas, blocks with their own mapping, free blocks
 *     jemalloc    mallctl: bytes allocated, and bytes resident for them
 *     tcmalloc    MallocExtension (gperftools): bytes allocated, bytes not returned to the system
 *     another     nothing
 *
 * jemalloc and tcmalloc are preloaded (LD_PRELOAD) or linked in. In both cases their function is
 * found by name when the program is loaded.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include "os/allocator.h"
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- jemalloc ---- */

__attribute__((__weak__)) int
mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static bool
read_mallctl(const char *name, size_t *bytes)
{
    size_t size = sizeof(*bytes);
    return mallctl(name, bytes, &size, NULL, 0) == 0;
}

static bool
read_jemalloc(size_t *allocated, size_t *resident)
{
    uint64_t epoch = 1; /* any value: jemalloc takes the numbers anew */

    return mallctl && mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)) == 0 &&
           read_mallctl("stats.allocated", allocated) && read_mallctl("stats.resident", resident);
}

/* ---- tcmalloc ---- */

__attribute__((__weak__)) int
MallocExtension_GetNumericProperty(const char *name, size_t *bytes);

static bool
read_tcmalloc(size_t *allocated, size_t *resident)
{
    return MallocExtension_GetNumericProperty &&
           MallocExtension_GetNumericProperty("generic.current_allocated_bytes", allocated) &&
           MallocExtension_GetNumericProperty("generic.total_physical_bytes", resident);
}

static bool
read_other(struct heapprof_allocator *allocator)
{
    size_t allocated, resident;

    if (!read_jemalloc(&allocated, &resident) && !read_tcmalloc(&allocated, &resident))
        return false;
    allocator->blocks = allocated;
    allocator->free_blocks = resident > allocated ? resident - allocated : 0;
    return true;
}

/* ---- glibc ---- */

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
static size_t
in_use_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Returns whether malloc is the one that mallinfo2 describes: another may be preloaded. The
 * probe is larger than the blocks that a thread keeps for itself. It is smaller than the blocks
 * that get a mapping. The test is repeated, because another thread may free as many bytes at
 * the same moment. */
static bool
malloc_of_glibc_p(void)
{
    enum { probe_bytes = 64 << 10 };
    static bool known;

    for (int i = 0; !known && i < 3; i++) {
        size_t before = in_use_bytes();
        void *volatile probe = malloc(probe_bytes);
        known = probe && in_use_bytes() >= before + probe_bytes;
        free(probe);
    }
    return known;
}

static bool
read_glibc(struct heapprof_allocator *allocator)
{
    if (!malloc_of_glibc_p()) return false;

    struct mallinfo2 info = mallinfo2();
    allocator->blocks = info.uordblks + info.hblkhd;
    allocator->large_blocks = info.hblkhd;
    allocator->free_blocks = info.fordblks;
    return true;
}
#else
static bool read_glibc(struct heapprof_allocator *allocator) { return false; }
#endif

/* ---- arenas ---- */

#ifdef __GLIBC__
/* As one sets the most arenas from outside. */
static bool
arenas_set_p(void)
{
    const char *tunables = getenv("GLIBC_TUNABLES");

    return getenv("MALLOC_ARENA_MAX") || (tunables && strstr(tunables, "glibc.malloc.arena_max"));
}

void
rb_heapprof_allocator_share_arenas(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY || arenas_set_p()) return;
    mallopt(M_ARENA_MAX, 1);
}
#else
void rb_heapprof_allocator_share_arenas(void) { }
#endif

/* ---- all of them ---- */

struct heapprof_allocator
rb_heapprof_allocator_read(void)
{
    struct heapprof_allocator allocator = {0};

    allocator.known = read_other(&allocator) || read_glibc(&allocator);
    return allocator;
}
