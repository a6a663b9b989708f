/* read_at.c - calls pread until all bytes are there. One pread may return fewer bytes than it
 * was asked for, or be interrupted. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* pread */
#endif
#include "os/read_at.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

bool
rb_heapprof_read_at(int file, uint64_t offset, void *to, size_t bytes)
{
    char *next = to;

    while (bytes > 0) {
        ssize_t got = pread(file, next, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        next += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}
