#ifndef ATTACH_THREADS_H
#define ATTACH_THREADS_H
/* The threads of all Ractors, and what each is doing. */
#include "attach/vm.h"
#include "base/mem.h"

enum attach_thread_state {
    ATTACH_THREAD_RUNNING,    /* has its Ractor's GVL */
    ATTACH_THREAD_READY,      /* waits for it */
    ATTACH_THREAD_BLOCKED,    /* in C code that has given it up: I/O, a system call, a computation */
    ATTACH_THREAD_SLEEPING,   /* sleep, join, pop: for a time, or until it is woken */
    ATTACH_THREAD_LOCKING,    /* waits for a Mutex */
    ATTACH_THREAD_ENDED,
    ATTACH_THREAD_FIBER       /* no thread: a fiber of one, that does not run */
};

struct attach_thread {
    uint64_t address, ec, name;   /* of rb_thread_t; of its fiber's execution context; a String or nil */
    uint64_t native;              /* of rb_native_thread; 0: it has none now */
    uint64_t ractor_at, ractor, ractor_name; /* the Ractor; its id; a String or nil */
    int      tid;                 /* 0: it has no native thread now */
    enum attach_thread_state state;
};

struct attach_threads {
    struct attach_thread *all;
    size_t   capacity;
    size_t   count;
    bool     cut;                 /* there are more than are read, or the list is not whole */
};

/* Reads the list anew. False: no memory, or the VM cannot be read. */
bool attach_threads_read(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem);

/* Calls each_i with the address of every Ractor, in the VM's order, as long as it returns true. False: it did not, the
 * list cannot be read, or it does not come back to its head. */
bool attach_ractors_each(struct attach_vm *vm, bool (*each_i)(uint64_t ractor, void *data), void *data);

/* Whether that thread has its Ractor's GVL, now. */
bool attach_thread_running_p(struct attach_vm *vm, const struct attach_thread *thread);

void attach_threads_free(struct attach_threads *threads, struct heapprof_mem *mem);

/* As "running". */
const char *attach_thread_state_name(enum attach_thread_state state);

#endif
