/* bell.c - a semaphore, and a signal handler that posts it.
 *
 *   I1  The handler writes a flag and posts the semaphore, and does nothing else: it may run at
 *       any instruction of any thread.
 *   I2  The handler returns with errno as it was.
 *   I3  A child of fork does not take a signal that came to its parent. It does not lose a signal
 *       that came to itself before it has begun anew.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* sem_clockwait */
#endif
#include "os/bell.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 30))
# define BELL_CLOCK CLOCK_MONOTONIC
# define WAIT(bell, until) sem_clockwait(bell, BELL_CLOCK, until)
#else
# define BELL_CLOCK CLOCK_REALTIME
# define WAIT(bell, until) sem_timedwait(bell, until)
#endif

static sem_t bell;
static struct bell_signal {
    int number;              /* atomic; 0: no signal is taken */
    int come;                /* atomic: the process that the signal came to; 0: no process, or
                                the caller has asked for it */
    struct sigaction before; /* the action that the signal had */
} taken[HEAPPROF_BELL_SIGNALS];

void
rb_heapprof_bell_init(void)
{
    sem_init(&bell, 0, 0);
}

void
rb_heapprof_bell_ring(void)
{
    sem_post(&bell);
}

int64_t
rb_heapprof_bell_now(void)
{
    struct timespec now;

    clock_gettime(BELL_CLOCK, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void
rb_heapprof_bell_wait(int64_t until_ns)
{
    struct timespec until = { .tv_sec = (time_t)(until_ns / SECOND_NS),
                              .tv_nsec = until_ns % SECOND_NS };

    while (WAIT(&bell, &until) != 0 && errno == EINTR);
}

/* ---- signals ---- */

static void
hear(int number)
{
    int error = errno;

    for (unsigned i = 0; i < HEAPPROF_BELL_SIGNALS; i++) {
        if (__atomic_load_n(&taken[i].number, __ATOMIC_RELAXED) != number) continue;
        __atomic_store_n(&taken[i].come, (int)getpid(), __ATOMIC_RELAXED);
    }
    sem_post(&bell);
    errno = error;
}

static bool
plain_p(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

static bool
ours_p(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == hear;
}

int
rb_heapprof_bell_take_signal(unsigned which, int number, bool handled_by_ruby)
{
    struct bell_signal *it = &taken[which];
    struct sigaction now, action = { .sa_handler = hear, .sa_flags = SA_RESTART | SA_ONSTACK };

    if (sigaction(number, NULL, &now) != 0) return errno;
    if (ours_p(&now) && it->number == number) return 0;
    if (ours_p(&now) || (!plain_p(&now) && !handled_by_ruby)) return EBUSY;
    sigemptyset(&action.sa_mask);
    it->before = now;
    __atomic_store_n(&it->number, number, __ATOMIC_RELAXED);
    if (sigaction(number, &action, NULL) == 0) return 0;
    it->number = 0;
    return errno;
}

bool
rb_heapprof_bell_has_signal_p(unsigned which)
{
    struct sigaction now;

    return taken[which].number && sigaction(taken[which].number, NULL, &now) == 0 && ours_p(&now);
}

void
rb_heapprof_bell_give_signal(unsigned which)
{
    if (rb_heapprof_bell_has_signal_p(which))
        sigaction(taken[which].number, &taken[which].before, NULL);
    __atomic_store_n(&taken[which].number, 0, __ATOMIC_RELAXED);
}

bool
rb_heapprof_bell_signalled_p(unsigned which)
{
    return __atomic_exchange_n(&taken[which].come, 0, __ATOMIC_RELAXED) == (int)getpid();
}
