/* cpu.c - reads a thread's state. */
#include "attach/cpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STAT_BYTES = 256 }; /* "tid (name) S ...": the name has 64 bytes at most */

enum attach_cpu_state
attach_cpu_state(const struct attach_target *target, pid_t tid)
{
    char path[64], stat[STAT_BYTES + 1];

    if (!target->runs || tid <= 0) return ATTACH_CPU_WAITS;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)target->pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ATTACH_CPU_WAITS;
    ssize_t got = read(fd, stat, STAT_BYTES);
    close(fd);
    stat[got > 0 ? got : 0] = 0;

    const char *end = strrchr(stat, ')'); /* a name may have any bytes in it */
    if (!end || end[1] != ' ') return ATTACH_CPU_WAITS;
    if (end[2] == 'R') return ATTACH_CPU_RUNS;
    return end[2] == 'D' ? ATTACH_CPU_DISK : ATTACH_CPU_WAITS;
}
