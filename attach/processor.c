/* processor.c - whether a thread has a processor.
 *
 *     schedstat   turns: how often it has got one
 *     status      context switches, voluntary and not: how often it has left one
 *
 * A thread that has one has got it once more than it has left. */
#define _GNU_SOURCE /* sched_getcpu */
#include "attach/processor.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "attach/status.h"

static bool
number_of(const char *status, const char *name, uint64_t *number)
{
    const char *line = attach_status_line(status, name);

    if (line) *number = strtoull(line, NULL, 10);
    return line != NULL;
}

/* "Cpus_allowed_list:	0-1,4" */
static bool
one_processor_p(const char *status)
{
    const char *list = attach_status_line(status, "\nCpus_allowed_list:\t");

    return list && list[strcspn(list, ",-\n")] == '\n';
}

bool
attach_processor_queued_p(pid_t pid, pid_t tid, uint64_t turns)
{
    char status[ATTACH_STATUS_MAX];
    uint64_t voluntary, others;

    return attach_status_read(pid, tid, status) && !one_processor_p(status) &&
           number_of(status, "\nvoluntary_ctxt_switches:", &voluntary) &&
           number_of(status, "\nnonvoluntary_ctxt_switches:", &others) &&
           voluntary + others == turns;
}

/* What we may use; NULL: unknown. */
static const cpu_set_t *
ours(void)
{
    static cpu_set_t all;

    return CPU_COUNT(&all) > 0 || sched_getaffinity(0, sizeof(all), &all) == 0 ? &all : NULL;
}

static void
run_on(const cpu_set_t *set)
{
    static cpu_set_t last;

    if (CPU_EQUAL(set, &last)) return;
    last = *set;
    sched_setaffinity(0, sizeof(last), &last);
}

void
attach_processor_leave(void)
{
    const cpu_set_t *all = ours();
    int here = sched_getcpu();

    if (here < 0 || !all) return;
    cpu_set_t others = *all;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) > 0) run_on(&others);
}

void
attach_processor_use(int processor)
{
    const cpu_set_t *all = ours();

    if (!all) return;
    cpu_set_t used = *all;
    if (processor >= 0 && processor < CPU_SETSIZE && CPU_ISSET(processor, all)) {
        CPU_ZERO(&used);
        CPU_SET(processor, &used);
    }
    run_on(&used);
}

static void
computes_too_long(int signal)
{
    const struct sched_param none = { 0 };

    (void)signal;
    sched_setscheduler(0, SCHED_OTHER, &none);
}

/* The limit comes first: a thread that never sleeps would keep a processor for itself. */
void
attach_processor_at_once(void)
{
    const struct sched_param least = { .sched_priority = 1 };
    struct sigaction action = { .sa_handler = computes_too_long, .sa_flags = SA_RESTART };
    struct rlimit limit;

    if (getrlimit(RLIMIT_RTTIME, &limit) != 0 || limit.rlim_max != RLIM_INFINITY) return;
    limit.rlim_cur = 200000;
    if (setrlimit(RLIMIT_RTTIME, &limit) != 0 || sigaction(SIGXCPU, &action, NULL) != 0) return;
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least);
}

void
attach_processor_as_others(void)
{
    computes_too_long(SIGXCPU);
}
