#ifndef HEAPPROF_ATTACH_CPU_H
#define HEAPPROF_ATTACH_CPU_H
/* What the kernel says a native thread is doing (proc(5), the state in stat). */
#include "attach/target.h"

enum heapprof_cpu_state {
    HEAPPROF_CPU_RUNS,    /* a processor runs it, or it waits for one */
    HEAPPROF_CPU_DISK,    /* it waits for a disk, or for something like that */
    HEAPPROF_CPU_WAITS    /* for anything else; also where it cannot be told */
};

enum heapprof_cpu_state rb_heapprof_cpu_state(const struct heapprof_target *target, pid_t tid);

#endif
