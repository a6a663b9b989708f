#ifndef ATTACH_CPU_H
#define ATTACH_CPU_H
/* The kernel's accounts of a process's native threads: how long each has run, and how long it has
 * waited for a processor.
 *
 * To read an account costs a system call, and a process may have many threads that do nothing. So
 * the caller reads the accounts of the threads that are at work. Then it compares the clock of the
 * whole process with their sum. Only if the process has run longer than they have, the other
 * accounts are read, too:
 *
 *     attach_cpus_begin ---> attach_cpus_read ... ---> attach_cpus_read_rest
 *                            of threads at work        costs nothing if no other thread has run
 */
#include <time.h>

#include "attach/alarms.h"
#include "attach/target.h"
#include "base/index.h"

/* The account of one native thread. */
struct attach_cpu {
    pid_t    inner_tid, tid;     /* as the target calls it, and as we do */
    int      fd;                 /* its schedstat; -1: closed */
    uint32_t look;               /* the look that has read it last */
    uint64_t ran_ns, queued_ns;  /* on a processor; waiting for one: since it began */
    uint64_t turns;              /* how often it got a processor */
    uint64_t ran_new_ns, queued_new_ns; /* to be counted; the caller settles them */
    uint64_t counted_ns;         /* of ran_ns */
    char     state;              /* proc(5), the state in stat; 0: not read yet */
    uint64_t state_turns;        /* turns when the state was read */
    bool     queued;             /* it waits for a processor (attach_cpus_ask) */
    int      alarm;              /* of attach_cpus.alarms; ATTACH_NO_ALARM: it has none */
    uint64_t alarm_ns;           /* what the thread had run by its alarm, as it was read last */
};

struct attach_cpus {
    struct attach_target *target;
    struct heapprof_mem *mem;
    struct attach_cpu *all;      /* [0] unused */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index; /* inner_tid -> account */
    uint32_t look;               /* number of this look */
    uint32_t listed;             /* the look that has listed the target's threads last */
    bool     timed;              /* the kernel keeps the sum of the process: timer is set */
    timer_t  timer;
    uint32_t fds;                /* open ones */
    uint32_t crowd;              /* accounts when the rest was read last */
    bool     no_schedstat;       /* this kernel has none: stat is read instead */
    uint64_t process_ns;         /* what all threads have run, ended ones included; 0: unknown */
    uint64_t sum_ns;             /* what the threads in the list have run */
    uint64_t gone_ns;            /* what the threads had run that are no longer in the list */
    uint64_t uncounted_ns;       /* of gone_ns */
    uint64_t known_rest_ns;      /* process_ns - sum_ns when the rest was read last */
    struct attach_alarms *alarms; /* set by the caller: a thread that has run gets one; or NULL */
};

/* target and mem have to outlive the accounts. */
void
attach_cpus_init(struct attach_cpus *cpus, struct attach_target *target, struct heapprof_mem *mem);
void attach_cpus_free(struct attach_cpus *cpus);

/* Begins a look. With all, the first look opens the accounts of all threads, so that what they ran
 * before does not count. many says that the process has many threads. */
void attach_cpus_begin(struct attach_cpus *cpus, bool all, bool many);

/* The account of the thread with that id in the target's pid namespace, as it was read last; NULL
 * if it has not been read. Valid until the next read. */
struct attach_cpu *attach_cpus_find(struct attach_cpus *cpus, pid_t inner_tid);

/* Reads the account of that thread. Returns NULL if there is no such thread, or without memory. */
struct attach_cpu *attach_cpus_read(struct attach_cpus *cpus, pid_t inner_tid);

/* True if a thread may have run whose account this look has not read. */
bool attach_cpus_rest_ran_p(const struct attach_cpus *cpus);

/* Reads all accounts that this look has not read, if threads of them may have run. */
void attach_cpus_read_rest(struct attach_cpus *cpus);

/* The state of a thread whose account has been read (proc(5), the state in stat). A thread that
 * sleeps is not asked again before it has run. */
char attach_cpus_state(struct attach_cpus *cpus, struct attach_cpu *cpu);

/* Asks whether the thread waits for a processor, if its account was read at this look. */
void attach_cpus_ask(const struct attach_cpus *cpus, struct attach_cpu *cpu);

/* True if the thread has got a processor since its account was read at this look. */
bool attach_cpus_turned_p(struct attach_cpus *cpus, struct attach_cpu *cpu);

/* True if the alarm of a thread has rung since its account was settled last. */
bool attach_cpus_rang_p(const struct attach_cpus *cpus);

/* True if what the thread has run belongs where it is seen now: its alarm has rung. If it has no
 * alarm, it must be computing, and not wait for a processor. */
bool attach_cpus_counts_p(const struct attach_cpus *cpus, const struct attach_cpu *cpu,
                          bool computes);

/* What the thread has run is counted. */
void attach_cpus_settle(struct attach_cpus *cpus, struct attach_cpu *cpu);

/* What threads have run that have ended, and was not counted: after their accounts were read last,
 * or before they were read at all, or since their alarms rang last. */
uint64_t attach_cpus_unknown_ns(const struct attach_cpus *cpus);

/* How long ago a native thread began, to some milliseconds; -1: unknown. tid is ours; that of the
 * first thread is the process's. */
int64_t attach_cpu_age_ns(const struct attach_target *target, pid_t tid);

/* A number for the system call in which a thread waits, with its arguments and its place on the
 * stack: if it is the same as before, the thread's C functions are. 0: the thread runs, or this
 * cannot be read. */
uint64_t attach_cpu_call(const struct attach_target *target, pid_t tid);

#endif
