#ifndef ATTACH_CPU_H
#define ATTACH_CPU_H
/* What the kernel says a native thread is doing (proc(5), the state in stat). */
#include "attach/target.h"

enum attach_cpu_state {
    ATTACH_CPU_RUNS,    /* a processor runs the thread, or it waits for one */
    ATTACH_CPU_DISK,    /* it waits for a disk or a similar device */
    ATTACH_CPU_WAITS    /* it waits for anything else, or its state cannot be read */
};

enum attach_cpu_state attach_cpu_state(const struct attach_target *target, pid_t tid);

#endif
