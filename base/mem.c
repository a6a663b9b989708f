/* mem.c - pages from the kernel, charged to one budget.
 *
 * A block is a whole number of pages holding an array. Its owner knows how many
 * elements fit; how many bytes are mapped follows from that:
 *
 *     |<-------------------- mapped --------------------->|
 *     | element | element | ... | element | rest < 1 elem. |
 *     |<------------ capacity elements -->|  always zero
 *
 *   I1  mapped = capacity * element_bytes, rounded up to pages.
 *   I2  used_bytes is the sum of mapped over all blocks, and <= budget_bytes. mem->blocks
 *       says where the blocks are, as many as fit.
 *   I3  bytes that no element has covered yet are zero: nobody writes to the rest, and fresh
 *       anonymous pages are zero. So new elements need no clearing.
 *
 * A block grows by a share of its size, so n additions cost O(n). It doubles at least. A block
 * of a megabyte or more grows by a quarter at least, because its room to grow is in the budget,
 * too. On Linux the kernel moves the pages (mremap) and copies nothing. Elsewhere the block is
 * mapped anew and copied. The budget is charged by what is mapped, touched or not: the figure
 * never depends on what the kernel does with our pages.
 *
 * Sanitizers build with HEAPPROF_MEM_GUARD=1. A block then moves whenever it grows, and ends
 * with a page that nobody may touch. So a pointer kept over a growth, or an index beyond the
 * capacity, faults at once.
 *
 * May be called anywhere, in a GC too: takes no lock, raises nothing, and keeps errno, since an
 * allocation may stand between a failed call of the program and its look at errno. The caller
 * serialises.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* mremap, MAP_ANONYMOUS */
#endif
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

#ifndef HEAPPROF_MEM_GUARD
# define HEAPPROF_MEM_GUARD 0
#endif
#define LARGE_BYTES (1 << 20)
#define GUARD_BYTES (HEAPPROF_MEM_GUARD ? page_bytes() : 0)

static size_t
page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Bytes mapped for so many elements; SIZE_MAX when the number is absurd. */
static size_t
mapped_bytes(size_t count, size_t element_bytes)
{
    size_t page = page_bytes();

    HEAPPROF_ASSERT(element_bytes > 0 && element_bytes <= page);
    if (count > (SIZE_MAX - page) / element_bytes) return SIZE_MAX;
    return (count * element_bytes + page - 1) / page * page;
}

/* Owners keep pointers of their own type. Going through bytes reads and writes
 * them without claiming that they are void pointers, which aliasing rules forbid. */
static void *
load_block(void **block)
{
    void *pages;

    memcpy(&pages, block, sizeof(pages));
    return pages;
}

static void
store_block(void **block, void *pages)
{
    memcpy(block, &pages, sizeof(pages));
}

/* ---- pages ---- */

static void *
map(size_t bytes)
{
    char *pages = mmap(NULL, bytes + GUARD_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (GUARD_BYTES && pages != MAP_FAILED) mprotect(pages + bytes, GUARD_BYTES, PROT_NONE);
    return pages;
}

static void
unmap(void *pages, size_t bytes)
{
    munmap(pages, bytes + GUARD_BYTES);
}

/* A larger block that begins with what the old one holds. On MAP_FAILED the old one stays. */
static void *
remap(void *old, size_t old_bytes, size_t new_bytes)
{
    void *pages;

#if defined(MREMAP_MAYMOVE) && !HEAPPROF_MEM_GUARD
    if (old) return mremap(old, old_bytes, new_bytes, MREMAP_MAYMOVE);
#endif
    pages = map(new_bytes);
    if (old && pages != MAP_FAILED) {
        memcpy(pages, old, old_bytes);
        unmap(old, old_bytes);
    }
    return pages;
}

/* A smaller block with the beginning of the old one. On MAP_FAILED the old one stays. */
static void *
shrink_pages(char *old, size_t old_bytes, size_t new_bytes)
{
#if HEAPPROF_MEM_GUARD
    char *pages = map(new_bytes);
    if (pages == MAP_FAILED) return MAP_FAILED;
    memcpy(pages, old, new_bytes);
    unmap(old, old_bytes);
    return pages;
#else
    munmap(old + new_bytes, old_bytes - new_bytes);
    return old;
#endif
}

/* ---- blocks ---- */

void
rb_heapprof_mem_init(struct heapprof_mem *mem, size_t budget_bytes)
{
    memset(mem, 0, sizeof(*mem));
    mem->budget_bytes = budget_bytes;
}

/* Notes that a block has moved from old to pages. old is NULL for a new block, pages for one
 * that is given back. */
static void
move_block(struct heapprof_mem *mem, void *old, void *pages, size_t bytes)
{
    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        if (mem->blocks[i].address != (uintptr_t)old) continue;
        mem->blocks[i] = (struct heapprof_mem_block){(uintptr_t)pages, bytes};
        return;
    }
}

static bool
resize(struct heapprof_mem *mem, void **block, size_t old_bytes, size_t new_bytes)
{
    void *pages;

    mem->over_budget = new_bytes == SIZE_MAX ||
                       new_bytes - old_bytes > mem->budget_bytes - mem->used_bytes;
    if (mem->over_budget) return false;
    pages = remap(load_block(block), old_bytes, new_bytes);
    if (pages == MAP_FAILED) return false;

    move_block(mem, load_block(block), pages, new_bytes);
    store_block(block, pages);
    mem->used_bytes += new_bytes - old_bytes;
    if (mem->used_bytes > mem->peak_bytes) mem->peak_bytes = mem->used_bytes;
    return true;
}

static size_t
least_growth(size_t capacity, size_t element_bytes)
{
    return capacity * element_bytes < LARGE_BYTES ? capacity : capacity / 4;
}

bool
rb_heapprof_mem_grow(struct heapprof_mem *mem, void **block, size_t *capacity,
                     size_t count, size_t element_bytes)
{
    size_t old_bytes, new_bytes;
    int saved_errno = errno;

    if (count <= *capacity) return true;
    size_t least = *capacity + least_growth(*capacity, element_bytes);
    if (count < least) count = least;

    old_bytes = mapped_bytes(*capacity, element_bytes);
    new_bytes = mapped_bytes(count, element_bytes);
    if (!resize(mem, block, old_bytes, new_bytes)) {
        mem->refused++;
        mem->refused_block = block;
        errno = saved_errno;
        return false;
    }
    *capacity = new_bytes / element_bytes;
    return true;
}

/* Adds nothing to a byte of each page. Another thread may be writing to that byte; what it writes
 * stays. MADV_POPULATE_WRITE is less: below some hypervisors a page costs most at its first use. */
__attribute__((no_sanitize("thread")))
void
rb_heapprof_mem_touch(const struct heapprof_mem *mem)
{
    const size_t page = page_bytes();

    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        const struct heapprof_mem_block *block = &mem->blocks[i];
        for (size_t at = 0; at < block->bytes; at += page) {
            __atomic_fetch_add((char *)block->address + at, 0, __ATOMIC_RELAXED);
        }
    }
}

/* The size after shrinking with so many bytes in use: a half, a quarter, ... in whole pages. */
static size_t
shrunk_bytes(size_t bytes, size_t used_bytes)
{
    size_t page = page_bytes(), half;

    while (half = (bytes / 2 + page - 1) / page * page,
           half < bytes && used_bytes + used_bytes / 2 <= half) {
        bytes = half;
    }
    return bytes;
}

void
rb_heapprof_mem_shrink(struct heapprof_mem *mem, void **block, size_t *capacity, size_t used,
                       size_t element_bytes)
{
    size_t old_bytes = mapped_bytes(*capacity, element_bytes);
    size_t new_bytes = shrunk_bytes(old_bytes, used * element_bytes);
    char *old = load_block(block), *pages;

    if (new_bytes == old_bytes) return;
    pages = shrink_pages(old, old_bytes, new_bytes);
    if (pages == MAP_FAILED) return;

    *capacity = new_bytes / element_bytes;
    memset(pages + *capacity * element_bytes, 0, new_bytes - *capacity * element_bytes);
    move_block(mem, old, pages, new_bytes);
    store_block(block, pages);
    mem->used_bytes -= old_bytes - new_bytes;
}

void
rb_heapprof_mem_release(struct heapprof_mem *mem, void **block, size_t *capacity,
                        size_t element_bytes)
{
    void *pages = load_block(block);

    if (pages) {
        size_t bytes = mapped_bytes(*capacity, element_bytes);
        move_block(mem, pages, NULL, 0);
        unmap(pages, bytes);
        mem->used_bytes -= bytes;
    }
    store_block(block, NULL);
    *capacity = 0;
}
