#ifndef ATTACH_FIBERS_H
#define ATTACH_FIBERS_H
/* Fibers that do not run: suspended ones, and those that wait for a fiber they have resumed. No list of the VM
 * has them all, so every page of the heap is gone through: a millisecond for each ten megabytes or so. */
#include "attach/threads.h"

struct attach_fibers {
    struct attach_thread *all; /* as threads that wait; address is that of the thread whose fiber it is */
    size_t capacity, count;
    bool   cut;                  /* a part of the heap could not be read */
};

/* Reads them anew; threads are those there are. False: no memory, or the target does not say where its heap is. */
bool attach_fibers_read(struct attach_fibers *fibers, struct attach_vm *vm,
                             const struct attach_threads *threads, struct heapprof_mem *mem);

void attach_fibers_free(struct attach_fibers *fibers, struct heapprof_mem *mem);

#endif
