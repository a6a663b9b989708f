/* record_looks.c - takes the looks of `record`, at their times. */
#include "cli/live/record.h"

#include <signal.h>
#include <time.h>

#include "os/clock.h"

/* How often new processes are looked for. REFRESH_NS holds while a process is being looked at,
 * START_REFRESH_NS while one is starting, and WAIT_REFRESH_NS while there is neither. */
enum { REFRESH_NS = 200000000, START_REFRESH_NS = 5000000, WAIT_REFRESH_NS = 50000000 };

static volatile sig_atomic_t interrupted;

static void
interrupt(int signal)
{
    interrupted = signal;
}

static void
look_at_all(struct record_session *session)
{
    bool all = true;

    for (size_t i = 0; i < session->processes.count; i++) {
        struct attach_process *process = &session->processes.all[i];
        if (!process->looks) continue;
        if (!session->origin[0]) attach_origin_text(process->target, session->origin);
        if (!attach_processes_look(&session->processes, process)) all = false;
        else if (!attach_record_add(&session->record, process->looks, 1)) session->memory = true;
    }
    session->taken += all;
}

static bool
any_open_p(const struct record_session *session)
{
    for (size_t i = 0; i < session->processes.count; i++) {
        if (session->processes.all[i].looks) return true;
    }
    return false;
}

/* Opens new processes. Returns false if no process is left, and none can come. While a command
 * runs, it may still become a Ruby. */
static bool
refresh(struct record_session *session, int64_t now)
{
    if (now < session->refresh_ns) return true;
    size_t left = attach_processes_refresh(&session->processes);
    session->refresh_ns = now + (any_open_p(session) ? REFRESH_NS :
                                 session->processes.starting ? START_REFRESH_NS : WAIT_REFRESH_NS);
    return left > 0 || session->child;
}

static void
sleep_until(int64_t ns)
{
    struct timespec until = {ns / RECORD_SECOND_NS, ns % RECORD_SECOND_NS};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); /* a signal ends the sleep */
}

/* Takes a look at each tick. Ticks that pass during a look are late; they are counted and left
 * out. */
static void
look_until_it_ends(struct record_session *session)
{
    int64_t next = session->began_ns;

    while (!interrupted && !session->memory &&
           !(session->child && cli_child_poll(session->child))) {
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        if (session->end_ns && now >= session->end_ns) break;
        if (!refresh(session, now)) break;
        if (any_open_p(session)) {
            session->asked++;
            look_at_all(session);
        }
        next += session->period_ns;
        now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        if (next < now) {
            uint64_t missed = (uint64_t)((now - next) / session->period_ns + 1);
            session->asked += any_open_p(session) ? missed : 0;
            session->late += any_open_p(session) ? missed : 0;
            next += (int64_t)missed * session->period_ns;
        }
        sleep_until(next);
    }
}

void
record_look(struct record_session *session)
{
    struct sigaction action = {.sa_handler = interrupt};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    session->began_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    session->wall_began_ns = rb_heapprof_clock_ns(CLOCK_REALTIME);
    if (session->end_ns) session->end_ns += session->began_ns;
    look_until_it_ends(session);
}
