/* memory_limit.c - how much memory a process may use. In a container, /sys/fs/cgroup has the files
 * of its own group. No allocation, no lock, no state. */
#include "os/memory_limit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const of_container[] = {
    "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
};

uint64_t
rb_heapprof_kernel_number(const char *path, uint64_t otherwise)
{
    char text[32] = "", *end = text;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    uint64_t number = length > 0 ? strtoull(text, &end, 10) : 0;

    if (fd >= 0) close(fd);
    return end > text ? number : otherwise;
}

static uint64_t
least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

uint64_t
rb_heapprof_memory_limit(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit space;

    for (size_t i = 0; i < sizeof(of_container) / sizeof(of_container[0]); i++)
        bytes = least(bytes, rb_heapprof_kernel_number(of_container[i], UINT64_MAX));
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        bytes = least(bytes, space.rlim_cur);
    return bytes;
}
