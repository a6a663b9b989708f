/* stop.c - short stops by ptrace.
 *
 *               PTRACE_SEIZE, PTRACE_INTERRUPT           PTRACE_DETACH
 *     runs ----------------------------------> SEIZED ---> STOPPED ---> runs
 *                                                \ not in time           ^
 *                                                 \-> LATE --------------/   at a later resume
 *
 * A seized thread cannot be let go before it has stopped. A thread may wait in the kernel without a
 * way to interrupt it: for a device, or in vfork for the child. It stops when the wait is over, and
 * stays in the list as late until then.
 *
 * What waitpid says about a stopped thread, and what detaching needs:
 *
 *     event  signal
 *     STOP   SIGTRAP         it was interrupted
 *     STOP   SIGSTOP, ...    its process is stopped by that signal, and the kernel keeps it so
 *     none   any             the signal was on its way: it is passed on, or it would be lost
 *
 *   I1  A thread is in the list exactly while it is seized.
 *   I2  Signals are blocked exactly while a thread is SEIZED or STOPPED.
 *
 * exec kills all other threads, and gives the calling thread the number of the process. So if a
 * number has gone, the process's number is tried.
 *
 * PTRACE_SEIZE waits while a thread of the target is in exec. exec waits until the tracer of each
 * other thread has seen its end, and for the threads that we hold that is us. To avoid this
 * deadlock, SIGCHLD is not blocked during the call. Its handler waits for the ended threads, and
 * the kernel restarts the call. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* __WNOTHREAD */
#endif
#include "attach/stop.h"
#include "attach/status.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define YIELDS 64              /* as a rule it stops within these */
#define NAP_NS 50000
#define ROUNDS_MOST 64         /* of looking for threads that are new */

enum stop_state {SEIZED, STOPPED, LATE};

struct seized {
    pid_t tid;
    enum stop_state state;
    int   signal;              /* to be handed on */
};

struct attach_stop {
    pid_t    pid;
    struct heapprof_mem mem;
    struct seized *threads;
    size_t   count, capacity;
    bool     child;            /* we are its parent */
    bool     blocked;
    sigset_t before;           /* the signals that were blocked, while blocked */
    pthread_t tracer;          /* who seizes */
    struct sigaction on_child; /* what SIGCHLD did, while it is ours */
    volatile bool ended;       /* it came: what it did is to be done after all */
    volatile bool in_call;     /* PTRACE_SEIZE: of what it seizes, the list does not know yet */
    volatile bool gone;        /* meanwhile a number was gone */
};

static struct attach_stop *volatile seizing; /* whose SIGCHLD it is; NULL: not ours */

/* ---- time and signals ---- */

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
wait_a_little(unsigned int times)
{
    const struct timespec nap = { .tv_nsec = NAP_NS };

    if (times < YIELDS) sched_yield();
    else nanosleep(&nap, NULL);
}

static void
block_signals(struct attach_stop *stop)
{
    sigset_t all;

    if (stop->blocked) return;
    sigfillset(&all);
    stop->blocked = pthread_sigmask(SIG_SETMASK, &all, &stop->before) == 0;
}

static void
unblock_signals(struct attach_stop *stop)
{
    if (stop->blocked) pthread_sigmask(SIG_SETMASK, &stop->before, NULL);
    stop->blocked = false;
}

/* ---- one thread ---- */

static struct seized *
find(struct attach_stop *stop, pid_t tid)
{
    for (size_t i = 0; i < stop->count; i++) {
        if (stop->threads[i].tid == tid) return &stop->threads[i];
    }
    return NULL;
}

static void
forget(struct attach_stop *stop, struct seized *thread)
{
    *thread = stop->threads[--stop->count];
}

/* Asks /proc about a thread that cannot be seized. */
static enum attach_stopped
why_not(const struct attach_stop *stop, pid_t tid, pid_t *tracer)
{
    char status[ATTACH_STATUS_MAX];

    *tracer = 0;
    if (!attach_status_read(stop->pid, tid, status)) return ATTACH_STOP_GONE;
    const char *number = attach_status_line(status, "\nTracerPid:");
    char state = attach_status_state(status);
    *tracer = number ? (pid_t)atoi(number) : 0;
    if (state == 'Z' || state == 'X' || state == 0) return ATTACH_STOP_GONE;
    return *tracer ? ATTACH_STOP_TRACED : ATTACH_STOP_REFUSED;
}

pid_t
attach_stop_tracer(const struct attach_stop *stop, pid_t tid)
{
    pid_t tracer;

    why_not(stop, tid, &tracer);
    return tracer;
}

/* By exec the thread may have become the first thread of the process. Then it is still seized,
 * under the process's number. */
static void
follow_exec(struct attach_stop *stop)
{
    stop->gone = stop->in_call;
    if (stop->in_call || find(stop, stop->pid) ||
        ptrace(PTRACE_INTERRUPT, stop->pid, NULL, NULL) != 0)
        return;
    if (!HEAPPROF_MEM_GROW(&stop->mem, stop->threads, stop->capacity, stop->count + 1)) return;
    stop->threads[stop->count++] = (struct seized){ .tid = stop->pid, .state = LATE };
}

/* Seizes with SIGCHLD not blocked (see above). No other code of ours runs meanwhile, so the handler
 * need not be async-signal-safe. */
static bool
seize_it(struct attach_stop *stop, pid_t tid)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    stop->in_call = true;
    pthread_sigmask(SIG_UNBLOCK, &child, NULL);
    bool done = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0;
    int error = errno;
    pthread_sigmask(SIG_BLOCK, &child, NULL);
    stop->in_call = false;
    errno = error;
    return done;
}

/* Asks a thread to stop. Returns STOPPED if it will. */
static enum attach_stopped
seize(struct attach_stop *stop, pid_t tid)
{
    pid_t tracer;

    if (!HEAPPROF_MEM_GROW(&stop->mem, stop->threads, stop->capacity, stop->count + 1))
        return ATTACH_STOP_REFUSED;
    bool seized = seize_it(stop, tid);
    int error = errno;
    bool asked = seized && ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
    if (asked) stop->threads[stop->count++] = (struct seized){ .tid = tid, .state = SEIZED };
    if (stop->gone || (seized && !asked)) follow_exec(stop);
    if (asked) return ATTACH_STOPPED;
    return seized || error == ESRCH ? ATTACH_STOP_GONE : why_not(stop, tid, &tracer);
}

/* The end of our own child, if it came between the two questions of wait_for. */
static struct {
    pid_t pid;
    int   status;
} taken_end;

bool
attach_stop_child_end(pid_t pid, int *status)
{
    if (taken_end.pid != pid) return false;
    *status = taken_end.status;
    return true;
}

/* As waitpid. But the end of our own child is left for its own waitpid, and is an error here. No
 * call asks for stops by ptrace alone, so the end may come before the second call and be taken. */
static pid_t
wait_for(const struct attach_stop *stop, pid_t tid, int *status)
{
    const int options = __WALL | __WNOTHREAD | WNOHANG;
    bool child = stop->child && tid == stop->pid;
    siginfo_t info = { .si_pid = 0 };
    pid_t changed;

    if (child) {
        if (waitid(P_PID, (id_t)tid, &info, options | WEXITED | WSTOPPED | WNOWAIT) == 0 &&
            info.si_pid &&
            (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
             info.si_code == CLD_DUMPED))
            return -1;
    }
    do {
        changed = waitpid(tid, status, options);
    } while (changed < 0 && errno == EINTR);
    if (!child || changed <= 0 || WIFSTOPPED(*status)) return changed;
    taken_end.pid = tid;
    taken_end.status = *status;
    return -1;
}

/* After exec by another thread, a number that we have seized may belong to a thread that we have
 * not seized but are the parent of. No change of it is to be waited for. */
static bool
ours_p(const struct seized *thread)
{
    return ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0 || errno != ESRCH;
}

/* Asks whether a thread has stopped meanwhile. After GONE it is no longer in the list. doubtful: it
 * takes long. */
static enum attach_stopped
look(struct attach_stop *stop, struct seized *thread, bool doubtful)
{
    int status = 0;
    pid_t tid = thread->tid, changed = wait_for(stop, tid, &status);

    if (changed == 0 && (!doubtful || ours_p(thread))) return ATTACH_STOP_LATE;
    if (changed > 0 && WIFSTOPPED(status)) {
        thread->signal = status >> 16 ? 0 : WSTOPSIG(status);
        thread->state = STOPPED;
        return ATTACH_STOPPED;
    }
    forget(stop, thread);
    if (tid != stop->pid) follow_exec(stop);
    return ATTACH_STOP_GONE;
}

/* Lets go of a stopped thread. If that fails (SIGKILL, exec), it counts as late: a later call sees
 * what has become of it. */
static void
detach(struct attach_stop *stop, struct seized *thread)
{
    if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) == 0) {
        forget(stop, thread);
        return;
    }
    thread->state = LATE;
    thread->signal = 0;
}

/* ---- all that are in the list ---- */

/* Goes backwards, because the last entry takes the place of a forgotten one. */
static void
settle_late(struct attach_stop *stop)
{
    for (size_t i = stop->count; i-- > 0;) {
        if (i >= stop->count || stop->threads[i].state != LATE) continue;
        if (look(stop, &stop->threads[i], true) == ATTACH_STOPPED) detach(stop, &stop->threads[i]);
    }
}

/* Goes backwards for the same reason. */
static void
see_ends(struct attach_stop *stop)
{
    for (size_t i = stop->count; i-- > 0;) {
        if (i < stop->count) look(stop, &stop->threads[i], false);
    }
}

/* ---- SIGCHLD, while threads are seized beside those that are ---- */

/* Another thread of the program may get the signal. */
static void
on_end(int signal)
{
    int error = errno;

    if (!seizing) return;
    if (pthread_equal(pthread_self(), seizing->tracer)) {
        seizing->ended = true;
        see_ends(seizing);
    }
    else {
        pthread_kill(seizing->tracer, signal);
    }
    errno = error;
}

/* The end of a thread is not told twice. */
static void
take_signal(struct attach_stop *stop)
{
    struct sigaction ours = { .sa_handler = on_end, .sa_flags = SA_NOCLDSTOP | SA_RESTART };

    stop->tracer = pthread_self();
    stop->ended = false;
    seizing = stop;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGCHLD, &ours, &stop->on_child);
    see_ends(stop);
}

static void
give_signal_back(struct attach_stop *stop)
{
    sigaction(SIGCHLD, &stop->on_child, NULL);
    seizing = NULL;
    if (stop->ended) pthread_kill(stop->tracer, SIGCHLD);
}

/* Waits for the SEIZED threads. Returns STOPPED if all of them have stopped. */
static enum attach_stopped
wait_for_seized(struct attach_stop *stop, uint64_t until_ns)
{
    for (unsigned int times = 0;; times++) {
        bool waiting = false;
        if (times > YIELDS) {
            see_ends(stop);
            settle_late(stop);
        }
        for (size_t i = stop->count; i-- > 0;) {
            if (i >= stop->count || stop->threads[i].state != SEIZED) continue;
            if (look(stop, &stop->threads[i], times > YIELDS) == ATTACH_STOP_LATE) waiting = true;
        }
        if (!waiting) return ATTACH_STOPPED;
        if (now_ns() >= until_ns) return ATTACH_STOP_LATE;
        wait_a_little(times);
    }
}

static void
give_up_seized(struct attach_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        if (stop->threads[i].state == SEIZED) stop->threads[i].state = LATE;
    }
}

static bool
any_stopped_p(const struct attach_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        if (stop->threads[i].state != LATE) return true;
    }
    return false;
}

void
attach_stop_resume(struct attach_stop *stop)
{
    give_up_seized(stop);
    for (size_t i = stop->count; i-- > 0;) {
        if (stop->threads[i].state == STOPPED) detach(stop, &stop->threads[i]);
    }
    unblock_signals(stop);
    settle_late(stop);
}

size_t
attach_stop_late(const struct attach_stop *stop)
{
    size_t late = 0;

    for (size_t i = 0; i < stop->count; i++) late += stop->threads[i].state == LATE;
    return late;
}

/* ---- stopping ---- */

/* A late thread will still stop, and need not be seized again. */
static enum attach_stopped
begin(struct attach_stop *stop, pid_t tid)
{
    struct seized *thread = find(stop, tid);

    if (!thread) return seize(stop, tid);
    if (thread->state == LATE) thread->state = SEIZED;
    return ATTACH_STOPPED;
}

enum attach_stopped
attach_stop_thread(struct attach_stop *stop, pid_t tid, uint64_t limit_ns)
{
    uint64_t until_ns = now_ns() + limit_ns;

    settle_late(stop);
    block_signals(stop);
    take_signal(stop);
    enum attach_stopped stopped = begin(stop, tid);
    give_signal_back(stop);
    if (stopped == ATTACH_STOPPED) stopped = wait_for_seized(stop, until_ns);
    if (stopped == ATTACH_STOPPED && !find(stop, tid)) stopped = ATTACH_STOP_GONE;
    give_up_seized(stop);
    if (!any_stopped_p(stop)) unblock_signals(stop);
    return stopped;
}

/* Seizes the threads that are not in the list. If it returns STOPPED, count is their number. */
static enum attach_stopped
seize_new(struct attach_stop *stop, struct attach_target *target, size_t *count)
{
    *count = 0;
    if (!attach_target_threads(target)) return ATTACH_STOP_GONE;
    for (size_t i = 0; i < target->thread_count; i++) {
        struct seized *thread = find(stop, target->threads[i].tid);
        if (thread && thread->state != LATE) continue;
        enum attach_stopped begun = begin(stop, target->threads[i].tid);
        if (begun == ATTACH_STOPPED) ++*count;
        else if (begun != ATTACH_STOP_GONE) return begun;
    }
    return ATTACH_STOPPED;
}

static enum attach_stopped
stop_all(struct attach_stop *stop, struct attach_target *target, uint64_t until_ns)
{
    for (int round = 0; round < ROUNDS_MOST; round++) {
        size_t count;
        enum attach_stopped stopped = seize_new(stop, target, &count);
        if (stopped != ATTACH_STOPPED) return stopped;
        if (count == 0) return any_stopped_p(stop) ? ATTACH_STOPPED : ATTACH_STOP_GONE;
        stopped = wait_for_seized(stop, until_ns);
        if (stopped != ATTACH_STOPPED) return stopped;
    }
    return ATTACH_STOP_LATE;
}

enum attach_stopped
attach_stop_all(struct attach_stop *stop, struct attach_target *target, uint64_t limit_ns)
{
    uint64_t until_ns = now_ns() + limit_ns;

    settle_late(stop);
    block_signals(stop);
    take_signal(stop);
    enum attach_stopped stopped = stop_all(stop, target, until_ns);
    give_signal_back(stop);
    if (stopped != ATTACH_STOPPED) attach_stop_resume(stop);
    return stopped;
}

/* ---- its life ---- */

struct attach_stop *
attach_stop_new(pid_t pid)
{
    struct attach_stop *stop = calloc(1, sizeof(*stop));
    siginfo_t info;

    if (!stop) return NULL;
    stop->pid = pid;
    stop->child = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    rb_heapprof_mem_init(&stop->mem, SIZE_MAX);
    return stop;
}

void
attach_stop_free(struct attach_stop *stop)
{
    if (!stop) return;
    attach_stop_resume(stop);
    HEAPPROF_MEM_RELEASE(&stop->mem, stop->threads, stop->capacity);
    free(stop);
}
