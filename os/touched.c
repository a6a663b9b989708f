/* touched.c - /proc/self/pagemap: 8 bytes a page. The upper two bits say that the page is in
 * memory, or swapped out.
 *
 * MRI reserves hundreds of megabytes and writes to a few. A page that is only read may count as
 * touched, too.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_CLOEXEC, mincore */
#endif
#include "os/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRIES 512 /* entries that are read at once */
#define IN_MEMORY_OR_SWAPPED (UINT64_C(3) << 62)

int
rb_heapprof_touched_open(void)
{
    return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

void
rb_heapprof_touched_close(int fd)
{
    if (fd >= 0) close(fd);
}

/* Reads the entries of pages, beginning with page. A page that the system says nothing about
 * counts as touched. */
static void
read_entries(int fd, uintptr_t page, uint64_t *entries, size_t count)
{
    size_t bytes = count * sizeof(*entries);

    if (fd >= 0 && pread(fd, entries, bytes, (off_t)(page * sizeof(*entries))) == (ssize_t)bytes)
        return;
    memset(entries, 0xff, bytes);
}

bool
rb_heapprof_touched(int fd, uintptr_t *begin, uintptr_t end, uintptr_t *part_end)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t entries[ENTRIES];
    bool found = false;

    *part_end = end;
    for (uintptr_t page = *begin / page_bytes; page * page_bytes < end; page += ENTRIES) {
        uintptr_t left = (end - page * page_bytes + page_bytes - 1) / page_bytes;
        size_t count = left < ENTRIES ? (size_t)left : ENTRIES;
        read_entries(fd, page, entries, count);
        for (size_t i = 0; i < count; i++) {
            bool touched = (entries[i] & IN_MEMORY_OR_SWAPPED) != 0;
            uintptr_t address = (page + i) * page_bytes;
            if (touched == found) continue;
            if (found) {
                *part_end = address;
                return true;
            }
            found = true;
            if (address > *begin) *begin = address;
        }
    }
    return found;
}

bool
rb_heapprof_mapped_p(uintptr_t address)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    int error = errno;
    bool mapped =
        mincore((void *)(address / page_bytes * page_bytes), page_bytes, &resident) == 0 ||
        errno != ENOMEM;

    errno = error;
    return mapped;
}
