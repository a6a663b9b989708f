#ifndef ATTACH_ALARMS_H
#define ATTACH_ALARMS_H
/* Wakes the reader by the clocks of the threads that it looks at: a thread's alarm rings each time
 * that the thread has run for a period. It rings while the thread has a processor, so at a random
 * place of what the thread does, also on a busy machine:
 *
 *     thread         runs ======#=====|  waits for a processor  |===#======#===
 *     its alarm                 rings                               rings  rings
 *     reader's ticks    |     |     |     |     |     |     |     |     |     |
 *
 * A look at a time of the reader's own often finds the thread waiting for a processor, and where it
 * lost that is no random place (attach/processor.h).
 *
 * The kernel has such alarms for those who may trace it: perf_event_open(2) as root, with
 * CAP_PERFMON, or where kernel.perf_event_paranoid is 1 at most. Containers forbid it as a rule.
 * Where it is forbidden no alarm can be set, and attach_alarms_sleep only sleeps. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ATTACH_NO_ALARM = -1 };

struct attach_alarms {
    int64_t period_ns;          /* of CPU time */
    int     waiting;            /* an epoll descriptor; -1: no alarm can be set */
    int     timer;              /* a timerfd: the end of a sleep */
    size_t  count;
    struct attach_alarm *all;   /* by number */
};

/* There are no alarms if the kernel does not allow them, or if the period is 0. */
void attach_alarms_open(struct attach_alarms *alarms, int64_t period_ns);
void attach_alarms_close(struct attach_alarms *alarms);

/* Sets an alarm to a thread, as we call it. Returns its number, or ATTACH_NO_ALARM if there are too
 * many, or the thread has ended. */
int attach_alarms_set(struct attach_alarms *alarms, pid_t tid);
void attach_alarms_unset(struct attach_alarms *alarms, int alarm);

/* Sleeps until then, or until an alarm rings or a signal comes. Returns whether one rang. */
bool attach_alarms_sleep(struct attach_alarms *alarms, int64_t until_ns);

/* Whether that alarm has rung since it was set again last. */
bool attach_alarms_rang_p(const struct attach_alarms *alarms, int alarm);

/* As if all had rung: at the end, for what has been run since they did. */
void attach_alarms_ring(struct attach_alarms *alarms);

/* How long the thread has run since its alarm was set at first, up to this moment. */
uint64_t attach_alarms_ran_ns(int alarm);

/* The processor on which the thread was when its alarm rang last; -1: unknown. */
int attach_alarms_processor(const struct attach_alarms *alarms, int alarm);

void attach_alarms_set_again(struct attach_alarms *alarms, int alarm);

#endif
