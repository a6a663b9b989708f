#ifndef ATTACH_STOP_H
#define ATTACH_STOP_H
/* Stops native threads of a process for as long as it takes to read them, by ptrace.
 *
 *     attach_stop_thread or _all ---> read ---> attach_stop_resume
 *
 * The kernel ends such a stop when the reader ends, however it ends. SIGSTOP is never used: the target's parent
 * would see it, and it would outlive the reader. A thread is ours (PTRACE_SEIZE) from a stop to the next resume only:
 * between two samples the target's signals do not come by us.
 *
 *   - Everything here is called by one thread of ours: Linux knows a tracer by its thread. No other part of the
 *     program may wait for all children (waitpid with -1) between stop and resume.
 *   - While threads are being seized SIGCHLD is ours; what it did before is called afterwards. One struct
 *     attach_stop at a time may do so.
 *   - From a stop to resume this thread's signals are blocked, so that ^C and ^Z come when the target runs again.
 *     SIGSTOP cannot be blocked: who stops the reader so stops what it has just stopped.
 *   - A stopped thread that slept is woken: where the kernel cannot take its call up again, it fails with EINTR
 *     (epoll_wait). So a thread that does not run is better read without being stopped.
 *   - A target that is stopped by a signal (SIGSTOP, ^Z) stays so; a signal that comes meanwhile is delivered.
 */
#include "attach/target.h"

enum attach_stopped {
    ATTACH_STOPPED,          /* it stands still */
    ATTACH_STOP_GONE,        /* it has ended, or called exec */
    ATTACH_STOP_TRACED,      /* another tracer has it (a debugger, strace): to be read as it runs */
    ATTACH_STOP_REFUSED,     /* it may be read, but not traced */
    ATTACH_STOP_LATE         /* it did not stop in time: it waits in the kernel for a device */
};

struct attach_stop;

/* For a process, which may be our child: then its end is left to be waited for. NULL: no memory. */
struct attach_stop *attach_stop_new(pid_t pid);

/* Resumes what is stopped; what is late then is let go when the thread of ours ends that stopped it. NULL is
 * allowed. */
void attach_stop_free(struct attach_stop *stop);

/* Stops one thread, in addition to those that are stopped; waits for limit_ns at most. But for STOPPED, the
 * thread runs; one that is LATE stands still from when it can until a later resume. */
enum attach_stopped attach_stop_thread(struct attach_stop *stop, pid_t tid, uint64_t limit_ns);

/* Stops all threads, those too that are created meanwhile; lists the target's threads anew. STOPPED: all that
 * are not ending stand still; anything else: what the first was that does not, and none is stopped. */
enum attach_stopped attach_stop_all(struct attach_stop *stop, struct attach_target *target,
                                           uint64_t limit_ns);

/* Lets go of all that are stopped. Then, as before each stop, of those that were late and have stopped since. */
void attach_stop_resume(struct attach_stop *stop);

/* Threads that are still late: while there are any, resume is to be called now and then, for they stop as soon
 * as they can. */
size_t attach_stop_late(const struct attach_stop *stop);

/* The other tracer's pid, of a thread that is TRACED; 0: it is gone. */
pid_t attach_stop_tracer(const struct attach_stop *stop, pid_t tid);

#endif
