#ifndef HEAPPROF_VM_OTHERS_H
#define HEAPPROF_VM_OTHERS_H

/* How long work lets other threads run meanwhile. */
struct heapprof_others {
    /* Lets them run between two slices. May jump out. */
    void (*between)(void);
    /* Does the work while they run; it needs no GVL. May leave it undone. */
    void (*beside)(void *(*work)(void *data), void *data);
};

#endif
