#ifndef ATTACH_FIBERS_H
#define ATTACH_FIBERS_H
/* Fibers that do not run: suspended ones, and those that wait for a fiber that they have resumed.
 * The VM has no list of all fibers, so every page of the heap is read: about a millisecond for each
 * ten megabytes. */
#include "attach/threads.h"

struct attach_fibers {
    struct attach_thread
        *all; /* each as a waiting thread; address is the thread's whose fiber it is */
    size_t capacity, count;
    bool   cut;                  /* a part of the heap could not be read */
};

/* Reads the list anew; threads are all threads of the VM. Returns false without memory, or if the
 * target does not say where its heap is. */
bool attach_fibers_read(struct attach_fibers *fibers, struct attach_vm *vm,
                        const struct attach_threads *threads, struct heapprof_mem *mem);

void attach_fibers_free(struct attach_fibers *fibers, struct heapprof_mem *mem);

#endif
