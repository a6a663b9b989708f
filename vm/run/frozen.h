#ifndef HEAPPROF_VM_FROZEN_H
#define HEAPPROF_VM_FROZEN_H
/* A snapshot without the GVL: of a copy of the process, in that copy. */
#include <stdbool.h>
#include "profiler/snapshot.h"

struct heapprof_frozen_asks {
    unsigned int with;           /* flags of rb_heapprof_snapshot; what cannot be had is left out */
    /* Called in the copy: writes the snapshot. Returns 0, or errno. It must not take a lock that
     * another thread may hold: memory is base/aside's. */
    int (*write)(struct heapprof_snapshot *snapshot);
    bool (*wanted_p)(void);      /* called while the copy writes: whether to wait for it */
    bool crashed;                /* this thread has crashed, perhaps inside malloc or with a lock */
};

/* Sets aside what a copy needs: address space, which is not in memory. Called once, before the
 * first. Returns false if there is no memory. */
bool rb_heapprof_frozen_prepare(void);

/* Copies this process, at a moment at which no table changes, and waits until the copy has written.
 * Returns 0, or errno: EBUSY if tables changed each time that it was tried, ENOTSUP if there are
 * several ractors, ECHILD if the copy has failed. Called by a thread of ours, without the GVL, or
 * by one that has crashed. */
int rb_heapprof_frozen_write(const struct heapprof_frozen_asks *asks);

#endif
