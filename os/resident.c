/* resident.c - which part of a range is in memory, by mincore. mincore gives one byte a page
 * and needs no file. A page that was only ever read is the kernel's page of zeros, which counts
 * here and not in RSS. None of our pages are only read, and few of other code's are. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* mincore */
#endif
#include "os/resident.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES_AT_ONCE 1024

static size_t
resident_pages(uintptr_t address, size_t pages, size_t page_bytes)
{
    unsigned char in_memory[PAGES_AT_ONCE];
    size_t count = 0;

    if (mincore((void *)address, pages * page_bytes, in_memory) != 0) {
        size_t half = pages / 2; /* a part of the range is not mapped */
        return half == 0
                   ? 0
                   : resident_pages(address, half, page_bytes) +
                         resident_pages(address + half * page_bytes, pages - half, page_bytes);
    }
    for (size_t i = 0; i < pages; i++) count += in_memory[i] & 1;
    return count;
}

size_t
rb_heapprof_resident_bytes(uintptr_t address, size_t bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    uintptr_t end = (address + bytes + page_bytes - 1) / page_bytes * page_bytes;
    int saved_errno = errno;

    for (address -= address % page_bytes; address < end;) {
        size_t pages = (end - address) / page_bytes;
        if (pages > PAGES_AT_ONCE) pages = PAGES_AT_ONCE;
        count += resident_pages(address, pages, page_bytes);
        address += pages * page_bytes;
    }
    errno = saved_errno;
    return count * page_bytes;
}

size_t
rb_heapprof_resident_mem_bytes(const struct heapprof_mem *mem)
{
    size_t bytes = 0;

    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        bytes += rb_heapprof_resident_bytes(mem->blocks[i].address, mem->blocks[i].bytes);
    }
    return bytes;
}
