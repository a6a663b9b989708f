/* bell.c - a semaphore, and a signal handler that posts it.
 *
 *   I1  the handler writes a flag and posts the semaphore, and does no more: it may come at any
 *       instruction of any thread.
 *   I2  errno is as it was when the handler returns.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* sem_clockwait */
#endif
#include "bell.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)

#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 30))
# define BELL_CLOCK CLOCK_MONOTONIC
# define WAIT(bell, until) sem_clockwait(bell, BELL_CLOCK, until)
#else
# define BELL_CLOCK CLOCK_REALTIME
# define WAIT(bell, until) sem_timedwait(bell, until)
#endif

static sem_t bell;
static int signalled;           /* atomic */
static int taken;               /* the signal; 0: none */
static struct sigaction before; /* what it did */

void
rb_heapprof_bell_init(void)
{
    sem_init(&bell, 0, 0);
    __atomic_store_n(&signalled, 0, __ATOMIC_RELAXED);
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
    struct timespec until = { .tv_sec = (time_t)(until_ns / SECOND_NS), .tv_nsec = until_ns % SECOND_NS };

    while (WAIT(&bell, &until) != 0 && errno == EINTR);
}

/* ---- the signal ---- */

static void
hear(int number)
{
    int error = errno;

    (void)number;
    __atomic_store_n(&signalled, 1, __ATOMIC_RELAXED);
    sem_post(&bell);
    errno = error;
}

static bool
plain_p(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

int
rb_heapprof_bell_take_signal(int number, bool handled_by_ruby)
{
    struct sigaction action;

    if (sigaction(number, NULL, &before) != 0) return errno;
    if (!plain_p(&before) && !handled_by_ruby) return EBUSY;
    memset(&action, 0, sizeof(action));
    action.sa_handler = hear;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) return errno;
    taken = number;
    return 0;
}

bool
rb_heapprof_bell_has_signal_p(void)
{
    struct sigaction now;

    return taken && sigaction(taken, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == hear;
}

void
rb_heapprof_bell_give_signal(void)
{
    if (rb_heapprof_bell_has_signal_p()) sigaction(taken, &before, NULL);
    taken = 0;
}

bool
rb_heapprof_bell_signalled_p(void)
{
    return __atomic_exchange_n(&signalled, 0, __ATOMIC_RELAXED);
}
