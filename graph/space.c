/* space.c - takes memory from base/mem; when its budget is used up, takes parts of a file.
 *
 *     file  | part of a | hole | part of b | part of a, grown |
 *
 * An array in the file grows into a new part at the end of the file, and its old part becomes a
 * hole. A part grows by half or more, so all holes together are at most that large. A hole
 * costs only addresses in the file. An array that is in the file stays there. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_TMPFILE, MADV_REMOVE */
#endif
#include "graph/space.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void
graph_space_init(struct graph_space *space, size_t limit_bytes)
{
    memset(space, 0, sizeof(*space));
    rb_heapprof_mem_init(&space->mem, limit_bytes);
    space->file = -1;
}

void
graph_space_free(struct graph_space *space)
{
    if (space->file >= 0) close(space->file);
    space->file = -1;
}

static struct heapprof_mem_block *
find(struct graph_space *space, const void *address)
{
    for (int i = 0; i < GRAPH_SPACE_BLOCKS; i++) {
        if (space->filed[i].address == (uintptr_t)address) return &space->filed[i];
    }
    return NULL;
}

static bool
open_file(struct graph_space *space)
{
    const char *directory = getenv("TMPDIR");

    if (!directory || !*directory) directory = "/var/tmp";
    if (space->file < 0) space->file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return space->file >= 0;
}

/* Returns a new part of the file, filled with zeros; NULL if the disk is full or there is no
 * file. */
static void *
map_part(struct graph_space *space, size_t bytes)
{
    off_t at = (off_t)space->file_bytes;
    void *pages;

    if (!open_file(space) || posix_fallocate(space->file, at, (off_t)bytes) != 0) return NULL;
    pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, space->file, at);
    if (pages == MAP_FAILED) return NULL;
    space->file_bytes += bytes;
    return pages;
}

static void
unmap_part(struct heapprof_mem_block *part)
{
    madvise((void *)part->address, part->bytes, MADV_REMOVE);
    munmap((void *)part->address, part->bytes);
    *part = (struct heapprof_mem_block){0};
}

static bool
grow_in_file(struct graph_space *space, void **block, size_t *capacity, size_t count,
             size_t element_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), least = *capacity + *capacity / 2, bytes;
    void *old, *pages;
    struct heapprof_mem_block *part, *old_part;

    memcpy(&old, block, sizeof(old)); /* as base/mem does, for aliasing's sake */
    old_part = old ? find(space, old) : NULL;
    part = old_part ? old_part : find(space, NULL);
    if (count < least) count = least;
    if (!part || count > (SIZE_MAX - page) / element_bytes) return false;
    bytes = (count * element_bytes + page - 1) / page * page;
    pages = map_part(space, bytes);
    if (!pages) return false;
    if (old) memcpy(pages, old, *capacity * element_bytes);
    if (old_part) unmap_part(old_part);
    else rb_heapprof_mem_release(&space->mem, block, capacity, element_bytes);
    *part = (struct heapprof_mem_block){(uintptr_t)pages, bytes};
    memcpy(block, &pages, sizeof(pages));
    *capacity = bytes / element_bytes;
    return true;
}

bool
graph_space_grow(struct graph_space *space, void **block, size_t *capacity, size_t count,
                 size_t element_bytes)
{
    void *old;

    memcpy(&old, block, sizeof(old));
    if (!old || !find(space, old)) {
        if (rb_heapprof_mem_grow(&space->mem, block, capacity, count, element_bytes)) return true;
        if (!space->mem.over_budget) return false;
    }
    return grow_in_file(space, block, capacity, count, element_bytes);
}

void
graph_space_release(struct graph_space *space, void **block, size_t *capacity, size_t element_bytes)
{
    struct heapprof_mem_block *part;
    void *pages;

    memcpy(&pages, block, sizeof(pages));
    part = pages ? find(space, pages) : NULL;
    if (!part) {
        rb_heapprof_mem_release(&space->mem, block, capacity, element_bytes);
        return;
    }
    unmap_part(part);
    pages = NULL;
    memcpy(block, &pages, sizeof(pages));
    *capacity = 0;
}
