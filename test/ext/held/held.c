/* held.c - to be preloaded: a test holds the time of a program, and its copies
 * (test/cli/lib/held.rb).
 *
 *     HELD_BELL=BELL,ANSWER   Two descriptors. A thread that waits for a moment waits for a byte
 *                             from the bell instead. Then that moment has come, for this thread.
 *                             When it waits again it answers with a byte. When nobody can ring
 *                             any more, the thread waits for the clock. The byte is a number: so
 *                             many times 10 ms after that moment it is when the thread wakes up.
 *     HELD_POLLS=1            With HELD_BELL, a ppoll waits for the bell, too. Ruby's own must not.
 *     HELD_STEP=SECONDS       The clock stands still, and each look at it takes so long. With
 *                             HELD_BELL it is at each bell what the thread has waited for.
 *     HELD_COPY=1             The copy of ruby that writes a dump stops (SIGSTOP) before it begins.
 *     HELD_FORK=1             A child of a fork stops before ruby notices that it is one.
 *     HELD_READ=MILLISECONDS  Each read of another process's memory takes so much longer.
 *
 * The waits are those of `heapprof record` (clock_nanosleep; it has no timerfd then), of `heapprof
 * leak` (ppoll), of `heapprof memcheck` for its command (sigtimedwait), and of the thread in ruby
 * that writes profiles (sem_clockwait). A signal, a descriptor or a semaphore still ends them. The
 * programs that a program starts have their own time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define POLLED_MOST 16

static int bell = -1, answer = -1;
static int64_t step_ns = -1, stepped_ns; /* -1: the clock goes by itself */
static bool stop_copy, polls;
static struct timespec read_takes;

static _Thread_local int64_t skipped_ns; /* by the bell */
static _Thread_local bool rung;          /* and it has not been answered */

static int64_t
ns_of(const struct timespec *time)
{
    return time->tv_sec * SECOND_NS + time->tv_nsec;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (clock != CLOCK_MONOTONIC || result != 0) return result;
    int64_t ns = step_ns < 0 ? ns_of(now) : SECOND_NS + (stepped_ns += step_ns);
    ns += skipped_ns;
    *now = (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    return result;
}

static void
answer_bell(void)
{
    if (rung && write(answer, ".", 1) != 1) bell = -1;
    rung = false;
}

/* Returns whether the bell has rung within that time (-1: without an end). If a signal has come,
 * errno is EINTR. */
static bool
hear_bell(const struct timespec *until, int milliseconds)
{
    struct pollfd ready = {.fd = bell, .events = POLLIN};
    struct timespec now;
    unsigned char late;

    errno = 0;
    if (poll(&ready, 1, milliseconds) <= 0) return false;
    if (read(bell, &late, 1) != 1) {
        bell = -1;
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = ns_of(until) - ns_of(&now);
    if (left > 0) skipped_ns += left;
    skipped_ns += late * INT64_C(10000000);
    rung = true;
    return true;
}

int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *rest)
{
    int (*sleep)(clockid_t, int, const struct timespec *, struct timespec *) =
        dlsym(RTLD_NEXT, "clock_nanosleep");

    answer_bell();
    while (bell >= 0 && clock == CLOCK_MONOTONIC && flags == TIMER_ABSTIME) {
        if (hear_bell(until, -1)) return 0;
        if (errno == EINTR) return EINTR;
    }
    return sleep(clock, flags, until, rest);
}

int
ppoll(struct pollfd *asked, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
    int (*wait)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
        dlsym(RTLD_NEXT, "ppoll");
    struct pollfd all[POLLED_MOST];

    if (!polls) return wait(asked, count, time, mask);
    answer_bell();
    if (bell < 0 || !time || count >= POLLED_MOST) return wait(asked, count, time, mask);
    memcpy(all, asked, count * sizeof(*all));
    all[count] = (struct pollfd){.fd = bell, .events = POLLIN};
    int ready = wait(all, count + 1, NULL, mask);
    for (nfds_t i = 0; i < count; i++) asked[i].revents = all[i].revents;
    if (ready <= 0 || !all[count].revents) return ready;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += time->tv_sec;
    until.tv_nsec += time->tv_nsec;
    if (!hear_bell(&until, 0)) return wait(asked, count, time, mask);
    return ready - 1;
}

/* A program that could wait for a descriptor waits for the clock. */
int
timerfd_create(int clock, int flags)
{
    int (*create)(int, int) = dlsym(RTLD_NEXT, "timerfd_create");

    if (bell < 0) return create(clock, flags);
    errno = EMFILE;
    return -1;
}

int
sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    int (*wait)(sem_t *, clockid_t, const struct timespec *) = dlsym(RTLD_NEXT, "sem_clockwait");
    enum { look_ms = 1 };

    answer_bell();
    while (bell >= 0) {
        if (sem_trywait(semaphore) == 0) return 0;
        if (hear_bell(until, look_ms)) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
    return wait(semaphore, clock, until);
}

int
sigtimedwait(const sigset_t *signals, siginfo_t *info, const struct timespec *time)
{
    int (*wait)(const sigset_t *, siginfo_t *, const struct timespec *) =
        dlsym(RTLD_NEXT, "sigtimedwait");
    static const struct timespec look = {.tv_nsec = 1000000};
    struct timespec until;

    if (ns_of(time) == 0) return wait(signals, info, time);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += time->tv_sec + 1;
    answer_bell();
    while (bell >= 0) {
        int signal = wait(signals, info, &look);
        if (signal > 0 || errno != EAGAIN) return signal;
        if (hear_bell(&until, 0)) {
            errno = EAGAIN;
            return -1;
        }
    }
    return wait(signals, info, time);
}

static void
stop(void)
{
    syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
}

/* A copy puts itself behind all others before it begins (vm/graph/graph_child.c). It may call
 * nothing except the kernel. */
int
setpriority(__priority_which_t which, id_t who, int priority)
{
    if (stop_copy) stop();
    return (int)syscall(SYS_setpriority, which, who, priority);
}

ssize_t
process_vm_readv(pid_t pid, const struct iovec *to, unsigned long parts, const struct iovec *from,
                 unsigned long from_parts, unsigned long flags)
{
    syscall(SYS_nanosleep, &read_takes, NULL);
    return syscall(SYS_process_vm_readv, pid, to, parts, from, from_parts, flags);
}

__attribute__((constructor)) static void
begin(void)
{
    const char *descriptors = getenv("HELD_BELL"), *step = getenv("HELD_STEP"),
               *read_ms = getenv("HELD_READ");

    if (descriptors && sscanf(descriptors, "%d,%d", &bell, &answer) == 2) {
        fcntl(bell, F_SETFD, FD_CLOEXEC);
        fcntl(answer, F_SETFD, FD_CLOEXEC);
    }
    if (step) step_ns = (int64_t)(strtod(step, NULL) * SECOND_NS);
    if (read_ms) read_takes.tv_nsec = atoi(read_ms) * 1000000L;
    stop_copy = getenv("HELD_COPY");
    if (getenv("HELD_FORK")) pthread_atfork(NULL, NULL, stop); /* the first of all */
    unsetenv("LD_PRELOAD");
    unsetenv("HELD_COPY");
    unsetenv("HELD_FORK");
    unsetenv("HELD_BELL");
    unsetenv("HELD_STEP");
    unsetenv("HELD_READ");
    polls = getenv("HELD_POLLS") != NULL;
    unsetenv("HELD_POLLS");
}
