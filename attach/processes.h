#ifndef ATTACH_PROCESSES_H
#define ATTACH_PROCESSES_H
/* The processes that are looked at: one or several, and their children where that is asked for. A process that
 * is no Ruby yet, because it is between fork and exec or its VM has not started, is tried again for a while; and
 * again when it executes another file, for a shell may become a Ruby late. */
#include "attach/look.h"

struct attach_process {
    pid_t    pid;
    uint64_t start;                   /* as the target has it; 0: never opened. The number may be another's since */
    struct attach_target *target;   /* NULL: not open */
    struct attach_looks  *looks;
    uint64_t file[2];                 /* what it executes: device and inode */
    unsigned tries;                   /* in vain, since it executes that */
    bool     over;                    /* it has ended, or is not to be read: error says why */
    bool     was_open;                /* once */
    bool     child;                   /* it was found, not added: it is forgotten when it is over */
    char     error[ATTACH_TARGET_ERROR_MAX];
};

struct attach_processes {
    struct attach_names *names;
    enum attach_look_mode mode;
    bool     with_cpu;           /* of each look; the caller sets it */
    bool     children;
    struct attach_process *all;
    size_t   count, capacity;
    bool     was_open;                  /* any, once */
    bool     starting;                  /* one may become a Ruby at any moment */
    struct attach_look_counts counts; /* of those that are closed */
};

/* names has to outlive it. */
void attach_processes_init(struct attach_processes *processes, struct attach_names *names,
                                enum attach_look_mode mode, bool children);
void attach_processes_free(struct attach_processes *processes);

/* Adds one; it is opened by the next refresh. False: no memory. */
bool attach_processes_add(struct attach_processes *processes, pid_t pid);

/* Opens what is not open yet, and finds new children. To be called several times a second. Returns how many have not
 * ended, but for those that never were a Ruby though they have been tried long enough. */
size_t attach_processes_refresh(struct attach_processes *processes);

/* Looks at one that is open. False: it could not be looked at; then it may be closed. */
bool attach_processes_look(struct attach_processes *processes, struct attach_process *process);

/* What was done, of all of them together. */
struct attach_look_counts attach_processes_counts(const struct attach_processes *processes);

#endif
