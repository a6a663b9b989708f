#ifndef HEAPPROF_CLI_CONFINE_H
#define HEAPPROF_CLI_CONFINE_H
/* Takes from a worker for ever what reading a process does not need. */
#include <stdbool.h>

struct cli_confinement {
    int priority;       /* added to that of the process; 0: the same */
    int cpu_seconds;    /* the most that it may use */
    int descriptors;    /* the most that it may have */
    bool asks;          /* it may ask the process that it reads (attach/request.h) */
};

/* A call that is not needed fails with EPERM: the worker can start no process, send no signal,
 * open no socket and no file to write to, and not write to a process that it reads. One that asks
 * may write to a file that is there, as the memory of a process is. Its memory,
 * the size of a file that it writes, and its time are bounded. What the kernel does not support is
 * left out. */
void cli_confine(const struct cli_confinement *confinement);

#endif
