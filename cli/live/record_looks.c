/* record_looks.c - takes the looks of `record`, at their times. */
#include "cli/live/record.h"

#include <time.h>

#include "attach/processor.h"
#include "cli/interrupt.h"
#include "os/clock.h"

/* Returns false without memory. */
static bool
label(struct record_session *session, struct attach_process *process)
{
    struct attach_record *record = &session->record;
    char pid[24];

    snprintf(pid, sizeof(pid), "%d", (int)process->pid);
    process->renamed = false;
    return attach_record_label(record, process->looks, ATTACH_ROSTER_PID, pid) &&
           attach_record_label(record, process->looks, ATTACH_ROSTER_TITLE, process->title) &&
           attach_record_label(record, process->looks, ATTACH_ROSTER_CONTAINER,
                               process->container);
}

/* A look is of the moment at which it begins. Returns whether all processes were seen. With rang
 * it is at those of which an alarm has rung. */
static bool
look_at_all(struct record_session *session, bool rang)
{
    bool all = true;

    for (size_t i = 0; i < session->processes.count; i++) {
        struct attach_process *process = &session->processes.all[i];
        if (!process->looks || (rang && !attach_cpus_rang_p(&process->looks->cpus))) continue;
        if (process->renamed && !label(session, process)) session->memory = true;
        uint32_t number = process->looks->number;
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        if (!attach_processes_look(&session->processes, process)) {
            all = false;
            if (!process->looks) attach_record_end(&session->record, number, now);
        }
        else if (!attach_record_add(&session->record, process->looks, now)) session->memory = true;
    }
    return all;
}

static bool
any_open_p(const struct record_session *session)
{
    for (size_t i = 0; i < session->processes.count; i++) {
        if (session->processes.all[i].looks) return true;
    }
    return false;
}

/* Of several processes, says which have ended, or cannot be read. */
static void
say_ended(struct record_session *session)
{
    for (size_t i = 0; session->cli->operand_count > 1 && i < session->processes.count; i++) {
        struct attach_process *process = &session->processes.all[i];
        if (session->child || process->child || process->told || !process->over) continue;
        process->told = true;
        if (process->was_open)
            fprintf(stderr, "heapprof record: process %d has ended\n", (int)process->pid);
        else cli_wrong(session->cli, "%s", process->error);
    }
}

/* Opens new processes. Returns false if no process is left, and none can come. While a command
 * runs, it may still become a Ruby. */
static bool
refresh(struct record_session *session, int64_t now)
{
    size_t left = attach_processes_refresh(&session->processes, now);

    say_ended(session);
    return left > 0 || session->child;
}

/* A signal ends the sleep. Threads whose alarms ring are looked at meanwhile. */
static void
sleep_until(struct record_session *session, int64_t ns)
{
    while (!session->memory && attach_alarms_sleep(&session->alarms, ns)) {
        look_at_all(session, true);
        session->record.alarmed++;
    }
}

void
record_begin(struct record_session *session, int64_t now_ns)
{
    attach_record_init(&session->record, &session->options, now_ns);
    session->wall_began_ns = rb_heapprof_clock_ns(CLOCK_REALTIME);
    attach_pace_begin(&session->record.pace, session->period_ns, now_ns);
    session->next_file_ns =
        session->series.every > 0 ? now_ns + (int64_t)(session->series.every * 1e9) : INT64_MAX;
}

/* Writes what was seen, and begins again where that ends. A file that cannot be written is told,
 * and the next one is tried. */
static void
turn_over(struct record_session *session, int64_t now_ns)
{
    if (record_save(session) != CLI_DONE) session->status = CLI_WRONG;
    attach_processes_close(&session->processes);
    attach_record_free(&session->record);
    record_begin(session, now_ns);
}

/* Takes a look at each tick, and one at the end, so that all of the time is seen. Ticks that pass
 * during a look are late: they are left out, and the next look stands for their time, too. */
static void
look_until_it_ends(struct record_session *session)
{
    bool last = false;

    while (!last && !session->memory && !(session->child && cli_child_poll(session->child))) {
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        last = cli_interrupted || (session->end_ns && now >= session->end_ns);
        if (!last && !refresh(session, now)) break;
        if (last) attach_alarms_ring(&session->alarms);
        bool open = any_open_p(session), all = open && look_at_all(session, false);
        int64_t next = attach_pace_next(&session->record.pace,
                                        rb_heapprof_clock_ns(CLOCK_MONOTONIC), open, all);
        if (!last && now >= session->next_file_ns && session->processes.was_open)
            turn_over(session, now);
        if (session->end_ns && next > session->end_ns) next = session->end_ns;
        if (!last && !cli_interrupted) sleep_until(session, next);
    }
}

void
record_look(struct record_session *session)
{
    cli_interrupt_begin();
    if (session->end_ns) session->end_ns += session->record.began_ns;
    look_until_it_ends(session);
    attach_processor_as_others();
}
