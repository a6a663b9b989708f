#ifndef HEAPPROF_SECRET_H
#define HEAPPROF_SECRET_H
/* A number that the writer of a file cannot foresee. A table whose keys come from a file mixes it
 * into their hashes: so nobody can choose keys that all collide, which would make each search as
 * long as the table. It is no secret for cryptography. */
#include "base/index.h"

#include <time.h>

/* From the clock and the place of the stack. */
static inline uint64_t
rb_heapprof_secret(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return rb_heapprof_index_hash((uint64_t)now.tv_nsec ^ (uintptr_t)&now);
}

#endif
