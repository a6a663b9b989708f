#ifndef HEAPPROF_MEMORY_USE_H
#define HEAPPROF_MEMORY_USE_H
/* How full the limits of memory are that this process has: those of its control group and of the
 * groups above it (memory.max, memory.high; memory.limit_in_bytes of the first version), and that
 * of its address space (RLIMIT_AS). Files that the kernel can drop again (page cache) do not count.
 * No allocation, no lock, no state; uses no descriptor beyond the call. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct heapprof_memory_use {
    uint64_t used, limit;    /* bytes, of the limit that is fullest; limit is 0 if there is none */
    const char *name;        /* "memory.max", "memory.high", "memory.limit_in_bytes", "RLIMIT_AS" */
    char     group[512];     /* the directory of the control group; "" for RLIMIT_AS */
    uint64_t resident;       /* bytes of this process in memory; 0: not known */
};

/* Where the kernel's files are. */
struct heapprof_memory_places {
    const char *self;        /* "/proc/self/cgroup" */
    const char *mounts;      /* "/sys/fs/cgroup" */
};

/* Looks now. A limit that cannot be read is none. With places NULL, the usual ones. */
void rb_heapprof_memory_use(struct heapprof_memory_use *use,
                            const struct heapprof_memory_places *places);

/* What else is known of that limit. What the kernel does not tell is 0. */
struct heapprof_memory_facts {
    uint64_t high, max, killed; /* how often a process had to wait, had to free memory, was ended */
    uint64_t stalled_percent;   /* how much of the last ten seconds some task waited for memory */
    uint64_t others, other_bytes;          /* other processes of the group, in memory */
    uint64_t largest, largest_bytes;       /* the largest of them: its pid */
    char     largest_name[32];             /* "" if there is none */
};

/* The process `except` is not looked at; 0: none. */
void rb_heapprof_memory_facts(struct heapprof_memory_facts *facts,
                              const struct heapprof_memory_use *use, pid_t except);

#endif
