#ifndef ATTACH_STOP_H
#define ATTACH_STOP_H
/* Stops native threads of a process for as long as it takes to read them, by ptrace.
 *
 *     attach_stop_thread or _all ---> read ---> attach_stop_resume
 *
 * The kernel ends such a stop when the reader ends, however it ends. SIGSTOP is never used: the
 * target's parent would see it, and it would outlive the reader. The reader holds a thread
 * (PTRACE_SEIZE) only from a stop to the next resume. Between two samples the target's signals do
 * not pass through the reader.
 *
 *   - One thread of the reader calls all functions here, because for Linux a tracer is a thread.
 *     Between stop and resume no other part of the program may wait for all children (waitpid with
 *     -1).
 *   - While threads are being seized, SIGCHLD has a handler of ours, which calls the previous
 *     handler, too. Only one struct attach_stop at a time may seize.
 *   - From a stop to resume, signals of this thread are blocked. So ^C and ^Z come when the target
 *     runs again. SIGSTOP cannot be blocked: if it stops the reader, the stopped threads stay
 *     stopped, too.
 *   - A stop wakes a sleeping thread. A call that the kernel cannot restart fails with EINTR
 *     (epoll_wait). So a thread that does not run is better read without a stop.
 *   - A target that a signal has stopped (SIGSTOP, ^Z) stays stopped. A signal that comes meanwhile
 *     is delivered.
 */
#include "attach/target.h"

enum attach_stopped {
    ATTACH_STOPPED,      /* it stands still */
    ATTACH_STOP_GONE,    /* it has ended, or called exec */
    ATTACH_STOP_TRACED,  /* another tracer holds it (a debugger, strace): it can only be read as it
                            runs */
    ATTACH_STOP_REFUSED, /* it may be read, but not traced */
    ATTACH_STOP_LATE     /* it did not stop in time, because it waits in the kernel for a device */
};

struct attach_stop;

/* Begins for a process. If it is a child of the reader, its end is left for waitpid, except at one
 * moment: see attach_stop_child_end. Returns NULL without memory. */
struct attach_stop *attach_stop_new(pid_t pid);

/* Returns whether the end of that child was taken here, with its status as of waitpid. The caller
 * asks if its own waitpid finds no such child. */
bool attach_stop_child_end(pid_t pid, int *status);

/* Resumes all stopped threads. Threads that are still late are let go when the calling thread ends.
 * NULL is allowed. */
void attach_stop_free(struct attach_stop *stop);

/* Stops one thread, in addition to the stopped ones, and waits at most limit_ns. If the result is
 * not STOPPED, the thread runs. A LATE thread stops as soon as it can, and stands still until a
 * later resume. */
enum attach_stopped attach_stop_thread(struct attach_stop *stop, pid_t tid, uint64_t limit_ns);

/* Stops all threads, also those that are created meanwhile, and lists the target's threads anew.
 * Returns STOPPED if all threads that are not ending stand still. Otherwise returns the result of
 * the first thread that does not, and no thread is stopped. */
enum attach_stopped attach_stop_all(struct attach_stop *stop, struct attach_target *target,
                                    uint64_t limit_ns);

/* Lets go of all stopped threads. Then, as before each stop, of late threads that have stopped
 * since. */
void attach_stop_resume(struct attach_stop *stop);

/* The number of threads that are still late. While there are any, resume must be called now and
 * then: they stop as soon as they can. */
size_t attach_stop_late(const struct attach_stop *stop);

/* The pid of the other tracer of a TRACED thread; 0 if it has gone. */
pid_t attach_stop_tracer(const struct attach_stop *stop, pid_t tid);

#endif
