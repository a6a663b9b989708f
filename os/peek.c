/* peek.c - reads memory that may not be mapped, through /proc/self/mem. For memory that is not
 * mapped, pread returns an error, and no signal comes. process_vm_readv would do the same, but
 * a filter of system calls (seccomp) may kill a process that uses it. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include "os/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int
rb_heapprof_peek_open(void)
{
    int saved_errno = errno;
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

    errno = saved_errno;
    return fd;
}

void
rb_heapprof_peek_close(int fd)
{
    int saved_errno = errno;

    if (fd >= 0) close(fd);
    errno = saved_errno;
}

size_t
rb_heapprof_peek(int fd, uintptr_t address, void *buffer, size_t bytes)
{
    int saved_errno = errno;
    ssize_t count = pread(fd, buffer, bytes, (off_t)address);

    errno = saved_errno;
    return count > 0 ? (size_t)count : 0;
}
