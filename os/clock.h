#ifndef HEAPPROF_CLOCK_H
#define HEAPPROF_CLOCK_H
#include <stdint.h>
#include <time.h>

/* A clock in nanoseconds: CLOCK_MONOTONIC for spans, CLOCK_REALTIME for what time it is. */
static inline int64_t
rb_heapprof_clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
