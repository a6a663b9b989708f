#ifndef HEAPPROF_ATTACH_PROCESSES_H
#define HEAPPROF_ATTACH_PROCESSES_H
/* The processes that are looked at: one or several, and their children where that is asked for. A process that
 * is no Ruby yet, because it is between fork and exec or its VM has not started, is tried again for a while. */
#include "attach/look.h"

struct heapprof_process {
    pid_t    pid;
    struct heapprof_target *target;   /* NULL: not open */
    struct heapprof_looks  *looks;
    unsigned tries;                   /* in vain */
    bool     over;                    /* it has ended, or is not to be read: error says why */
    bool     was_open;                /* once */
    char     error[HEAPPROF_TARGET_ERROR_MAX];
};

struct heapprof_processes {
    struct heapprof_names *names;
    enum heapprof_look_mode mode;
    bool     children;
    struct heapprof_process *all;
    size_t   count, capacity;
    struct heapprof_look_counts counts; /* of those that are closed */
};

/* names has to outlive it. */
void rb_heapprof_processes_init(struct heapprof_processes *processes, struct heapprof_names *names,
                                enum heapprof_look_mode mode, bool children);
void rb_heapprof_processes_free(struct heapprof_processes *processes);

/* Adds one; it is opened by the next refresh. False: no memory. */
bool rb_heapprof_processes_add(struct heapprof_processes *processes, pid_t pid);

/* Opens what is not open yet, and finds new children. To be called several times a second. Returns how many are
 * open, or may still be. */
size_t rb_heapprof_processes_refresh(struct heapprof_processes *processes);

/* Looks at one that is open. False: it could not be looked at; then it may be closed. */
bool rb_heapprof_processes_look(struct heapprof_processes *processes, struct heapprof_process *process);

/* What was done, of all of them together. */
struct heapprof_look_counts rb_heapprof_processes_counts(const struct heapprof_processes *processes);

#endif
