#ifndef ATTACH_LOOK_H
#define ATTACH_LOOK_H
/* A look at a running Ruby, or at one in a core: the stacks of all its threads, with their names.
 *
 *     attach_look_open ---> attach_look ---> looks->stacks[] ---> attach_look ... ---> _close
 *
 * A stack is copied and given names, for which threads are stopped as the mode says: while a thread stands still, what
 * its frames run is neither freed nor moved. Names are kept, so as a rule that takes microseconds. Nothing here
 * is for two threads at once; the thread that has opened it has to look, too (stop.h). */
#include "attach/code.h"
#include "attach/fibers.h"
#include "attach/memo.h"
#include "attach/objects.h"
#include "attach/stop.h"
#include "attach/threads.h"
#include "attach/walk.h"

enum attach_look_mode {
    ATTACH_LOOK_AUTO,   /* who runs is stopped, for microseconds; who waits is read twice, and stopped if it did not */
    ATTACH_LOOK_ALWAYS, /* all threads are stopped while all stacks are copied: they are of one moment */
    ATTACH_LOOK_NEVER   /* nobody is stopped; what changes meanwhile is cut off, and says so */
};

struct attach_look_stack {
    struct attach_thread thread;
    size_t first, count;  /* of looks->frames, innermost first */
    bool   torn;          /* inner frames changed while they were read, and are left out */
    bool   failed;        /* it could not be read */
    bool   collecting;    /* it runs a garbage collection */
    bool   on_cpu;        /* a processor runs it, or it waits for one; with_cpu */
    bool   idle;          /* it waits for time, for others, or for I/O other than a disk's */
};

/* What was done, over all looks. */
struct attach_look_counts {
    uint64_t looks, stacks, torn, failed;
    uint64_t stopped;     /* threads, each time */
    uint64_t not_stopped; /* should have been, and could not */
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
    bool   collecting;                         /* garbage, when the threads were read */
    bool   with_fibers;                        /* fibers that do not run are read, too; the caller sets it */
    bool   with_cpu;                           /* whether a processor runs who has the GVL is asked, too; the caller sets it */
    struct attach_fibers fibers;
    struct attach_walk walk;                 /* of the stack that is read */
    struct attach_memos memos;
    struct attach_look_stack *stacks;        /* of the last look */
    size_t stack_capacity, stack_count;
    struct attach_look_frame *frames;
    size_t frame_capacity, frame_count;
    struct attach_look_counts counts;
};

/* Target and names stay the caller's and have to outlive it. NULL: error says why. */
struct attach_looks *attach_look_open(struct attach_target *target, struct attach_names *names,
                                             enum attach_look_mode mode, char error[ATTACH_TARGET_ERROR_MAX]);

/* Looks. False: the target has ended, has become another program, or there is no memory. */
bool attach_look(struct attach_looks *looks);

void attach_look_close(struct attach_looks *looks); /* NULL is allowed */

/* The name that the program gave a thread, or its Ractor; "" for none. text has room for ATTACH_TEXT_MAX. */
void attach_look_name(struct attach_looks *looks, uint64_t string, struct attach_text *text);

#endif
