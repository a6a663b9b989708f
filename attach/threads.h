#ifndef ATTACH_THREADS_H
#define ATTACH_THREADS_H
/* The threads of all Ractors, and what each is doing. */
#include "attach/vm.h"
#include "base/mem.h"

enum attach_thread_state {
    ATTACH_THREAD_RUNNING,  /* it has its Ractor's GVL */
    ATTACH_THREAD_READY,    /* it waits for the GVL */
    ATTACH_THREAD_BLOCKED,  /* it runs C code that has given the GVL up: I/O, a system call, a
                               computation */
    ATTACH_THREAD_SLEEPING, /* in sleep, join or pop: for a time, or until it is woken */
    ATTACH_THREAD_LOCKING,  /* it waits for a Mutex */
    ATTACH_THREAD_ENDED,
    ATTACH_THREAD_FIBER /* not a thread: one of its fibers, which does not run */
};

struct attach_thread {
    uint64_t address, ec,
        name; /* of the rb_thread_t; of its fiber's execution context; a String or nil */
    uint64_t native;              /* address of the rb_native_thread; 0: it has none at present */
    uint64_t ractor_at, ractor, ractor_name; /* the Ractor; its id; a String or nil */
    int      tid;                 /* 0: it has no native thread at present */
    enum attach_thread_state state;
};

struct attach_threads {
    struct attach_thread *all;
    size_t   capacity;
    size_t   count;
    bool cut; /* threads are missing: there are too many, or the list was broken */
};

/* Reads the list anew. Returns false without memory, or if the VM cannot be read. */
bool
attach_threads_read(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem);

/* Calls each_i with the address of every Ractor, in the VM's order, as long as each_i returns true.
 * Returns false if it did not, if the list cannot be read, or if the list does not come back to its
 * head. */
bool
attach_ractors_each(struct attach_vm *vm, bool (*each_i)(uint64_t ractor, void *data), void *data);

/* True if that thread has its Ractor's GVL at present. */
bool attach_thread_running_p(struct attach_vm *vm, const struct attach_thread *thread);

void attach_threads_free(struct attach_threads *threads, struct heapprof_mem *mem);

/* A word for the state, such as "running". */
const char *attach_thread_state_name(enum attach_thread_state state);

#endif
