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
#include "attach/cpu.h"
#include "attach/fibers.h"
#include "attach/label_sets.h"
#include "attach/locals.h"
#include "attach/memo.h"
#include "attach/native.h"
#include "attach/objects.h"
#include "attach/stop.h"
#include "attach/threads.h"
#include "attach/walk.h"

enum attach_look_mode {
    ATTACH_LOOK_AUTO, /* a thread with the GVL is stopped; a waiting one is read twice, and stopped
                         if it changes; all are, if code is freed again and again meanwhile */
    ATTACH_LOOK_ALWAYS, /* all threads are stopped while all stacks are copied: they are of one
                           moment */
    ATTACH_LOOK_NEVER   /* no thread is stopped; frames that change meanwhile are cut off, and the
                           stack is torn */
};

/* Which stacks are read. To read one costs more than to see that it is not wanted. */
enum attach_look_wanted {
    ATTACH_LOOK_ALL,
    ATTACH_LOOK_BUSY,   /* of threads that are not idle */
    ATTACH_LOOK_GVL,    /* of threads that have their Ractor's GVL */
    ATTACH_LOOK_CPU,    /* of threads that run, and have used a processor since they were counted
                           last */
    ATTACH_LOOK_OFF     /* of threads that wait */
};

/* What a thread waits for. */
enum attach_look_wait {
    ATTACH_WAITS_NOT,
    ATTACH_WAITS_SLEEP, /* in sleep, join or pop */
    ATTACH_WAITS_LOCK,  /* for a Mutex */
    ATTACH_WAITS_GVL,
    ATTACH_WAITS_IO     /* in a system call that has given the GVL up */
};

struct attach_look_stack {
    struct attach_thread thread;
    size_t first, count;  /* in looks->frames, innermost first */
    bool   wanted;        /* if not, the stack has not been read */
    bool   torn;          /* inner frames changed while they were read, and are left out */
    bool   failed;        /* the stack could not be read */
    bool   still;         /* the thread stood still, or waited, while its stack was read */
    bool   unsure;        /* code was freed or moved while its names were read */
    bool   collecting;    /* the thread runs a garbage collection */
    bool   collection_shown; /* one of the frames is "(garbage collection)" */
    bool idle; /* the thread waits for time, for other threads, or for I/O other than a disk's */
    enum attach_look_wait waits;
    uint32_t label_set;   /* of looks->label_sets; 0: it has no labels */
    uint64_t ran_ns;      /* ATTACH_LOOK_CPU: on a processor, since a stack of it was counted */
    uint64_t queued_ns;   /* ATTACH_LOOK_OFF: in the queue of a processor, since the last look */
};

#define ATTACH_LOOK_PATIENCE_NS (UINT64_C(200) * 1000 * 1000)

/* Sums over all looks. */
struct attach_look_counts {
    uint64_t looks, stacks, torn, failed;
    uint64_t stopped;     /* stops of a thread */
    uint64_t not_stopped; /* failed stops */
};

struct attach_looks {
    uint32_t number;      /* no others with the same names have or had it */
    struct attach_target *target;
    struct attach_vm *vm;
    struct attach_stop *stop;
    enum attach_look_mode mode;
    struct heapprof_mem mem;
    struct attach_names *names;
    struct attach_codes codes;
    struct attach_threads threads;
    bool collecting;  /* a garbage collection ran when the threads were read */
    enum attach_look_wanted wanted; /* set by the caller */
    uint64_t patience_ns; /* how long a thread may take to stand still. As a rule it is the thread's
                             wait for a processor. Set by the caller, if it has time; it is the
                             usual one again when a thread has taken longer */
    bool with_fibers; /* set by the caller: also read fibers that do not run */
    struct attach_native native;             /* C functions, if it is begun */
    bool native_busy_only; /* set by the caller: those of idle threads are not wanted, so these are
                              not stopped */
    struct attach_fibers fibers;
    struct attach_cpus cpus;
    bool asked;       /* this look has read accounts */
    bool quiet;       /* no thread has come or gone since the last look, and none that was idle has
                         run: idle ones are left out of stacks, unless they are wanted */
    struct attach_walk walk;                 /* of the stack that is being read */
    size_t place;                            /* its number among all threads and fibers */
    struct attach_memos memos;
    struct attach_label_sets label_sets;
    struct attach_locals locals;             /* of the last look; the caller sets wanted */
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

/* From now on C functions are shown, too. A thread that waits is stopped for that, unless it waits
 * in the same system call as at the last look. With ATTACH_LOOK_NEVER there are none. Returns false
 * without memory. */
bool attach_look_native(struct attach_looks *looks, enum attach_native_which which);

/* Looks once. Returns false without memory, or if the target has ended or become another
 * program. */
bool attach_look(struct attach_looks *looks);

void attach_look_close(struct attach_looks *looks); /* NULL is allowed */

/* How long ago the native thread of a thread began, to some milliseconds; -1: unknown. */
int64_t attach_look_age_ns(struct attach_looks *looks, const struct attach_thread *thread);

/* Reads the name that the program gave a thread or its Ractor; "" if it gave none. */
void attach_look_name(struct attach_looks *looks, uint64_t string, struct attach_text *text);

#endif
