#ifndef ATTACH_PROCESSES_H
#define ATTACH_PROCESSES_H
/* The processes that are looked at: one or several, and their children if the caller wants them. A
 * process may not be a Ruby yet, because it is between fork and exec or its VM has not started. It
 * is tried again for a while. It is also tried again when it executes another file: a shell may
 * become a Ruby late. */
#include "attach/look.h"

struct attach_process {
    pid_t    pid;
    uint64_t
        start; /* as the target has it; 0: never opened. Tells whether the pid has a new owner */
    struct attach_target *target;   /* NULL: not open */
    struct attach_looks  *looks;
    uint64_t file[2];                 /* what it executes: device and inode */
    unsigned tries;                   /* that failed, since it executes that file */
    bool     over;                    /* it has ended, or cannot be read: error says why */
    bool     was_open;                /* it has been open at least once */
    bool child; /* it was found, not added by the caller: it is forgotten when it is over */
    char     error[ATTACH_TARGET_ERROR_MAX];
};

struct attach_processes {
    struct attach_names *names;
    enum attach_look_mode mode;
    bool     with_cpu;           /* for each look; the caller sets it */
    bool     children;
    struct attach_process *all;
    size_t   count, capacity;
    bool     was_open;                  /* at least one has been open */
    bool     starting;                  /* one of them may become a Ruby at any moment */
    struct attach_look_counts counts;   /* of the closed ones */
};

/* names has to outlive the processes. */
void attach_processes_init(struct attach_processes *processes, struct attach_names *names,
                           enum attach_look_mode mode, bool children);
void attach_processes_free(struct attach_processes *processes);

/* Adds a process, which the next refresh opens. Returns false without memory. */
bool attach_processes_add(struct attach_processes *processes, pid_t pid);

/* Opens the processes that are not open yet, and finds new children. To be called several times a
 * second. Returns how many have not ended. Processes that were tried long enough and never were a
 * Ruby do not count. */
size_t attach_processes_refresh(struct attach_processes *processes);

/* Looks at an open process. Returns false if that fails; then the process may be closed. */
bool attach_processes_look(struct attach_processes *processes, struct attach_process *process);

/* The sums over all processes. */
struct attach_look_counts attach_processes_counts(const struct attach_processes *processes);

#endif
