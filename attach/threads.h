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
    uint64_t serial;              /* no other thread of the process has or had that number */
    uint64_t native;              /* address of the rb_native_thread; 0: it has none at present */
    uint64_t ractor_at, ractor, ractor_name; /* the Ractor; its id; a String or nil */
    int      tid;                 /* 0: it has no native thread at present */
    bool     main;                /* the VM's main thread */
    bool     idle;                /* when the caller looked at it last; the caller sets it. Only
                                     one that is not at work may be idle */
    enum attach_thread_state state;
};

/* What a Ractor says of its threads: this changes when a thread comes or goes, and as a rule when
 * one changes its state. */
struct attach_ractor {
    uint64_t address, id, name;
    uint64_t running;             /* the thread that has the GVL */
    uint64_t first, last;         /* nodes of the list of threads */
    uint64_t count, blocking, ready; /* threads */
};

struct attach_threads {
    struct attach_ractor *ractors;
    size_t   ractor_capacity, ractor_count;
    uint64_t main_thread;
    struct attach_thread *all, *before; /* as read now, and as read the last time */
    size_t   capacity, before_capacity;
    size_t   count, before_count;
    size_t   next;                /* in before: the thread that is likely to come next */
    uint32_t *awake;              /* numbers in all of those that are not known to be idle */
    size_t   awake_capacity, awake_count;
    bool cut; /* threads are missing: there are too many, or the list was broken */
};

/* Reads the list anew. All are awake then. Returns false without memory, or if the VM cannot be
 * read. */
bool
attach_threads_read(struct attach_threads *threads, struct attach_vm *vm, struct heapprof_mem *mem);

/* True for a thread that the VM knows to be at work: it has the GVL, or waits for it or for a
 * Mutex. */
static inline bool
attach_thread_at_work_p(const struct attach_thread *thread)
{
    return thread->state == ATTACH_THREAD_RUNNING || thread->state == ATTACH_THREAD_READY ||
           thread->state == ATTACH_THREAD_LOCKING;
}

/* Those that are idle are awake no more. */
void attach_threads_let_sleep(struct attach_threads *threads);

/* Reads what may have changed if no thread has run except those that were at work. Returns false if
 * more has changed: then the list has to be read anew. The names of threads are not looked at. */
bool attach_threads_refresh(struct attach_threads *threads, struct attach_vm *vm);

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
