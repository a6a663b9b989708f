#ifndef ATTACH_PROCESSES_H
#define ATTACH_PROCESSES_H
/* The processes that are looked at: one or several, and their children if the caller wants them.
 * Children are found as they begin (forks.h). A process may not be a Ruby yet, because it is
 * between fork and exec or its VM has not started. It is tried again for a while. It is also tried
 * again when it executes another file: a shell may become a Ruby late. */
#include "attach/forks.h"
#include "attach/look.h"

struct attach_process {
    pid_t    pid;
    uint64_t
        start; /* as the target has it; 0: never opened. Tells whether the pid has a new owner */
    struct attach_target *target;   /* NULL: not open */
    struct attach_looks  *looks;
    uint64_t file[2];                 /* what it executes: device and inode */
    unsigned tries;                   /* that failed, since it executes that file */
    int64_t  try_ns;                  /* when it is tried next */
    bool     renamed;                 /* set when the names have changed; cleared by the caller */
    char     title[256];              /* its command line, or what it calls itself */
    char     container[72];           /* "": it is in none */
    bool     over;                    /* it has ended, or cannot be read: error says why */
    bool     was_open;                /* it has been open at least once */
    bool     told;                    /* that it is over: for the caller */
    bool child; /* it was found, not added by the caller: it is forgotten when it is over */
    char     error[ATTACH_TARGET_ERROR_MAX];
};

struct attach_processes {
    struct attach_names *names;
    enum attach_look_mode mode;
    enum attach_look_wanted wanted; /* for each look; the caller sets it */
    enum attach_native_which native; /* the same */
    struct attach_alarms *alarms;   /* of their threads; NULL: none. The same */
    bool     children;
    pid_t    adopter;            /* whose children are children, too: orphans come to it; 0: none */
    struct attach_forks forks;
    int64_t  scan_ns;            /* when all of them are asked next what they are called */
    bool     scanned;            /* all processes of the host were searched for children */
    uint64_t missed;             /* children that ended before they were looked at */
    struct attach_process *all;
    size_t   count, capacity;
    bool     was_open;                  /* at least one has been open */
    struct attach_look_counts counts;   /* of the closed ones */
};

/* names has to outlive the processes. With children, the caller may give up its rights
 * afterwards. */
void attach_processes_init(struct attach_processes *processes, struct attach_names *names,
                           enum attach_look_mode mode, bool children);
void attach_processes_free(struct attach_processes *processes);

/* Adds a process, unless it is there already. The next refresh opens it. Returns false without
 * memory. */
bool attach_processes_add(struct attach_processes *processes, pid_t pid);

/* Opens the processes that are not open yet, and finds new children. To be called before each look:
 * it costs little if there is nothing to do. Returns how many have not ended. Processes that were
 * tried long enough and never were a Ruby do not count. */
size_t attach_processes_refresh(struct attach_processes *processes, int64_t now_ns);

/* Closes all, and forgets what was counted. The next refresh opens them again. */
void attach_processes_close(struct attach_processes *processes);

/* Looks at an open process. Returns false if that fails; then the process may be closed. */
bool attach_processes_look(struct attach_processes *processes, struct attach_process *process);

/* The sums over all processes. */
struct attach_look_counts attach_processes_counts(const struct attach_processes *processes);

#endif
