#ifndef ATTACH_LOOK_H
#define ATTACH_LOOK_H
/* A look at a running Ruby, or at one in a core: the stacks of all its threads, with their names.
 *
 *     attach_look_open ---> attach_look ---> looks->stacks[] ---> attach_look ... ---> _close
 *
 * A stack is copied and given names. The mode says which threads are stopped for that: while a
 * thread stands still, the code that its frames run is neither freed nor moved. Names are kept, so
 * as a rule a stop takes microseconds. Only one thread of the reader may call these functions, the
 * one that has called _open (stop.h). */
#include "attach/code.h"
#include "attach/fibers.h"
#include "attach/memo.h"
#include "attach/objects.h"
#include "attach/stop.h"
#include "attach/threads.h"
#include "attach/walk.h"

enum attach_look_mode {
    ATTACH_LOOK_AUTO, /* a thread with the GVL is stopped; a waiting one is read twice, and stopped
                         if it changes */
    ATTACH_LOOK_ALWAYS, /* all threads are stopped while all stacks are copied: they are of one
                           moment */
    ATTACH_LOOK_NEVER   /* no thread is stopped; frames that change meanwhile are cut off, and the
                           stack is torn */
};

struct attach_look_stack {
    struct attach_thread thread;
    size_t first, count;  /* in looks->frames, innermost first */
    bool   torn;          /* inner frames changed while they were read, and are left out */
    bool   failed;        /* the stack could not be read */
    bool   collecting;    /* the thread runs a garbage collection */
    bool   on_cpu;        /* a processor runs the thread, or it waits for one; set if with_cpu is */
    bool idle; /* the thread waits for time, for other threads, or for I/O other than a disk's */
};

/* Sums over all looks. */
struct attach_look_counts {
    uint64_t looks, stacks, torn, failed;
    uint64_t stopped;     /* stops of a thread */
    uint64_t not_stopped; /* failed stops */
};

struct attach_looks {
    struct attach_target *target;
    struct attach_vm *vm;
    struct attach_stop *stop;
    enum attach_look_mode mode;
    struct heapprof_mem mem;
    struct attach_names *names;
    struct attach_codes codes;
    struct attach_threads threads;
    bool collecting;  /* a garbage collection ran when the threads were read */
    bool with_fibers; /* set by the caller: also read fibers that do not run */
    bool with_cpu;    /* set by the caller: also ask the kernel whether a processor runs the threads
                         with the GVL */
    struct attach_fibers fibers;
    struct attach_walk walk;                 /* of the stack that is being read */
    struct attach_memos memos;
    struct attach_look_stack *stacks;        /* of the last look */
    size_t stack_capacity, stack_count;
    struct attach_look_frame *frames;
    size_t frame_capacity, frame_count;
    struct attach_look_counts counts;
};

/* The caller keeps target and names, which have to outlive the looks. Returns NULL on failure;
 * error says why. */
struct attach_looks *
attach_look_open(struct attach_target *target, struct attach_names *names,
                 enum attach_look_mode mode, char error[ATTACH_TARGET_ERROR_MAX]);

/* Looks once. Returns false without memory, or if the target has ended or become another
 * program. */
bool attach_look(struct attach_looks *looks);

void attach_look_close(struct attach_looks *looks); /* NULL is allowed */

/* Reads the name that the program gave a thread or its Ractor; "" if it gave none. */
void attach_look_name(struct attach_looks *looks, uint64_t string, struct attach_text *text);

#endif
