/* record.c - heapprof record: shows where a running Ruby spends its time, seen from outside. */
#include "cli/cli.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/origin.h"
#include "attach/processes.h"
#include "attach/record.h"
#include "attach/rights.h"
#include "base/version.h"
#include "cli/live/attach.h"
#include "cli/child.h"
#include "os/clock.h"
#include "os/file.h"
#include "report/export.h"
#include "report/text.h"

enum { COMMENTS_MOST = 17, RATE_MOST = 100000 };

/* How often new processes are looked for. REFRESH_NS holds while a process is being looked at,
 * START_REFRESH_NS while one is starting, and WAIT_REFRESH_NS while there is neither. */
enum { REFRESH_NS = 200000000, START_REFRESH_NS = 5000000, WAIT_REFRESH_NS = 50000000 };

#define SECOND_NS INT64_C(1000000000)

struct session {
    struct cli *cli;
    struct attach_record record;
    struct attach_processes processes;
    struct cli_child *child;                /* NULL if no command was given */
    int64_t  period_ns, began_ns, end_ns;   /* end_ns: 0 if there is no end */
    int64_t  wall_began_ns;
    int64_t  refresh_ns;                    /* when new processes are looked for next */
    uint64_t asked, taken, late;
    bool     memory;                        /* memory ran out */
    char     origin[ATTACH_ORIGIN_TEXT_MAX]; /* of the first process, as first seen; or "" */
};

static volatile sig_atomic_t interrupted;

static void
interrupt(int signal)
{
    interrupted = signal;
}

/* ---- looking ---- */

static void
look_at_all(struct session *session)
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
any_open_p(const struct session *session)
{
    for (size_t i = 0; i < session->processes.count; i++) {
        if (session->processes.all[i].looks) return true;
    }
    return false;
}

/* Opens new processes. Returns false if no process is left, and none can come. While a command
 * runs, it may still become a Ruby. */
static bool
refresh(struct session *session, int64_t now)
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
    struct timespec until = {ns / SECOND_NS, ns % SECOND_NS};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); /* a signal ends the sleep */
}

/* Takes a look at each tick. Ticks that pass during a look are late; they are counted and left
 * out. */
static void
record(struct session *session)
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

/* ---- the result ---- */

static void
say_counts(const struct session *session, int64_t duration_ns)
{
    struct attach_look_counts counts = attach_processes_counts(&session->processes);
    char looks[REPORT_COUNT_MAX], stacks[REPORT_COUNT_MAX], times[REPORT_COUNT_MAX];

    report_count(looks, session->taken, "look", "looks");
    report_count(stacks, counts.stacks, "stack", "stacks");
    fprintf(stderr,
            "heapprof record: %s in %.1f s (%" PRIu64 " were due, %" PRIu64 " came too late); "
            "%s, %" PRIu64 " read in part (torn), %" PRIu64 " not read\n",
            looks, (double)duration_ns / (double)SECOND_NS, session->asked, session->late, stacks,
            counts.torn, counts.failed);
    if (counts.not_stopped) {
        report_count(times, counts.not_stopped, "time", "times");
        fprintf(stderr,
                "heapprof record: %s a thread could not be stopped, and was read as it ran\n",
                times);
    }
    if (session->memory)
        fprintf(stderr, "heapprof record: it ended early, because there is no memory left\n");
}

static struct heapprof_model *
model_of(struct session *session, int64_t duration_ns)
{
    struct attach_look_counts counts = attach_processes_counts(&session->processes);
    char asked[200], stacks[200];
    const char *comments[COMMENTS_MOST + 1] = { HEAPPROF_COMMENT_VERSION HEAPPROF_VERSION, asked,
                                                stacks };
    size_t count = 3;

    snprintf(asked, sizeof(asked), "looks: asked %" PRIu64 ", taken %" PRIu64 ", late %" PRIu64,
             session->asked, session->taken, session->late);
    snprintf(stacks, sizeof(stacks), "stacks: read %" PRIu64 ", torn %" PRIu64 ", failed %" PRIu64,
             counts.stacks, counts.torn, counts.failed);
    for (char *line = strtok(session->origin, "\n"); line && count < COMMENTS_MOST;
         line = strtok(NULL, "\n")) {
        comments[count++] = line;
    }
    return attach_record_model(&session->record, comments, session->wall_began_ns, duration_ns);
}

static const struct {
    const char *name;
    report_export_i *export; /* NULL for a profile */
} formats[] = {
    {"pprof", NULL},
    {"collapsed", report_export_collapsed},
    {"speedscope", report_export_speedscope},
    {"chart", report_export_speedscope},
};

static report_export_i *
find_export(const char *name)
{
    size_t format = 0;

    while (name && strcmp(formats[format].name, name)) format++; /* parse.c has checked it */
    return formats[format].export;
}

/* Returns where the result is written. A profile is never written to a terminal, so it has a
 * default file name. */
static const char *
output_of(const struct session *session, char *name, size_t size)
{
    const char *out = session->cli->values[CLI_OUTPUT];

    if (out || find_export(session->cli->values[CLI_TO])) return out;
    snprintf(name, size, "heapprof-%d-time.pb.gz", (int)session->processes.all[0].pid);
    return name;
}

static int
save(struct session *session, const struct heapprof_model *model)
{
    struct cli *cli = session->cli;
    report_export_i *export = find_export(cli->values[CLI_TO]);
    char name[64];
    const char *out = output_of(session, name, sizeof(name));
    int status = export ? cli_export(cli, export, model, out) : cli_save(cli, model, out);

    if (status == CLI_DONE && out && strcmp(out, "-"))
        fprintf(stderr, "heapprof record: wrote %s\n", out);
    return status;
}

/* Returns false after telling the user that nothing can be written there. */
static bool
writable(const struct cli *cli)
{
    const char *out = cli->values[CLI_OUTPUT];
    int error = out && strcmp(out, "-") ? rb_heapprof_file_check(out) : 0;

    if (error) cli_wrong(cli, "%s: %s", out, strerror(error));
    return !error;
}

static int
finish(struct session *session)
{
    int64_t duration_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - session->began_ns;
    struct heapprof_model *model = model_of(session, duration_ns);
    int status = model ? save(session, model) : cli_wrong(session->cli, "no memory");

    rb_heapprof_model_free(model);
    say_counts(session, duration_ns);
    return status;
}

/* Returns why nothing was seen, or NULL if something was seen. */
static const char *
why_not(const struct session *session)
{
    if (session->processes.was_open) return NULL;
    const char *error = session->processes.count ? session->processes.all[0].error : "";
    return *error ? error : "it ended before it was looked at";
}

/* ---- the command ---- */

/* Reads the duration in nanoseconds, 0 if none is given. Returns false after telling the user
 * what is wrong. */
static bool
read_duration(const struct cli *cli, int64_t *ns)
{
    const char *text = cli->values[CLI_DURATION];
    char *end;

    if (!text) return true;
    double seconds = strtod(text, &end);
    if (*end || end == text || !(seconds > 0 && seconds <= 1e8)) {
        cli_usage(cli, "--duration=%s: give seconds, more than 0", text);
        return false;
    }
    *ns = (int64_t)(seconds * 1e9);
    return true;
}

static bool
read_rate(const struct cli *cli, int64_t *period_ns)
{
    long rate;

    if (!cli_number(cli, CLI_RATE, 1, 99, &rate)) return false;
    *period_ns = SECOND_NS / (rate < RATE_MOST ? rate : RATE_MOST);
    if (rate > RATE_MOST) cli_usage(cli, "--rate=%ld: give at most %d", rate, RATE_MOST);
    return rate <= RATE_MOST;
}

static enum attach_record_mode
read_mode(const char *mode)
{
    if (!mode || !strcmp(mode, "wall")) return ATTACH_RECORD_WALL;
    return strcmp(mode, "cpu") ? ATTACH_RECORD_GVL : ATTACH_RECORD_CPU;
}

static bool
read_options(struct session *session, struct attach_record_options *options)
{
    struct cli *cli = session->cli;
    const char *format = cli->values[CLI_TO] ? cli->values[CLI_TO] : "pprof";
    bool labels = !strcmp(format, "pprof"), chart = !strcmp(format, "chart");

    if (!read_rate(cli, &session->period_ns) || !read_duration(cli, &session->end_ns)) return false;
    *options = (struct attach_record_options){
        .mode = read_mode(cli->values[CLI_MODE]),
        .threads = cli->values[CLI_THREADS] && labels,
        .thread_frames = cli->values[CLI_THREADS] && !labels && !chart,
        .idle = cli->values[CLI_IDLE],
        .collections = cli->values[CLI_GC],
        .no_lines = cli->values[CLI_NO_LINES],
        .in_order = chart,
        .period_ns = (uint64_t)session->period_ns,
    };
    return true;
}

static void
begin(struct session *session)
{
    struct sigaction action = {.sa_handler = interrupt};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    session->began_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    session->wall_began_ns = rb_heapprof_clock_ns(CLOCK_REALTIME);
    if (session->end_ns) session->end_ns += session->began_ns;
}

static int
record_and_save(struct session *session)
{
    begin(session);
    record(session);
    const char *why = why_not(session);
    return why ? cli_wrong(session->cli, "%s", why) : finish(session);
}

/* Whether the text is a number, and so a process. Any other text is a command. */
static bool
pid_p(const char *text)
{
    return text[strspn(text, "-0123456789")] == 0;
}

static bool
add_pids(struct session *session)
{
    for (size_t i = 0; i < session->cli->operand_count; i++) {
        struct attach_target *target =
            cli_attach_open(session->cli, session->cli->operands[i], CLI_ATTACH_PROCESS);
        if (!target) return false;
        pid_t pid = target->pid;
        attach_target_close(target);
        if (!attach_processes_add(&session->processes, pid)) return false;
    }
    return true;
}

static int
record_pids(struct session *session)
{
    if (!add_pids(session)) return CLI_WRONG;
    if (!session->end_ns) session->end_ns = 10 * SECOND_NS;
    return record_and_save(session);
}

/* Returns the command's status, unless what was seen could not be written. */
static int
record_command(struct session *session)
{
    struct cli_child child;
    int error = cli_child_start(&child, session->cli->operands, NULL);

    if (error) return cli_child_not_run(session->cli, &child, error);
    session->child = &child;
    attach_rights_drop(false);
    attach_processes_add(&session->processes, child.pid);
    int status = record_and_save(session);
    cli_child_wait(&child);
    return status == CLI_DONE ? cli_child_end_like(&child) : status;
}

static int
run(struct cli *cli)
{
    struct session session = {.cli = cli};
    struct attach_record_options options;
    int status;

    if (!read_options(&session, &options)) return CLI_USAGE;
    if (!writable(cli)) return CLI_WRONG;
    attach_record_init(&session.record, &options);
    attach_processes_init(&session.processes, &session.record.names,
                          cli_attach_mode(cli->values[CLI_STOP]), cli->values[CLI_CHILDREN]);
    session.processes.with_cpu = options.mode == ATTACH_RECORD_CPU;
    status = pid_p(cli->operands[0]) ? record_pids(&session) : record_command(&session);
    attach_processes_free(&session.processes);
    attach_record_free(&session.record);
    return status;
}

static const struct cli_option options[] = {
    { CLI_RATE, NULL, "Look N times a second (default: 99)" },
    { CLI_DURATION, NULL, "How long to record (default: 10; a command: until it ends)" },
    { CLI_MODE, "wall cpu gvl",
      "Which time counts. wall: all that is not idle. cpu: on a processor. gvl: with Ruby's global "
      "lock" },
    { CLI_STOP, "auto always never", "Which threads to stop while they are read (default: auto)" },
    { CLI_THREADS, NULL, "Count each thread by itself" },
    { CLI_IDLE, NULL,
      "Also count threads that sleep, or wait for other threads or for the network" },
    { CLI_GC, NULL, "Show garbage collection as a function" },
    { CLI_CHILDREN, NULL, "Record child processes, too" },
    { CLI_NO_LINES, NULL, "Count by function, not by line" },
    { CLI_TO, "pprof collapsed speedscope chart",
      "What to write. chart: what ran when (default: pprof)" },
    { CLI_OUTPUT, NULL,
      "Where to write it (default: heapprof-PID-time.pb.gz; other formats: stdout)" },
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof record 4242", "ten seconds of that process, a hundred times a second" },
    { "heapprof record --mode cpu --threads -o time.pb.gz -- bundle exec rake import",
      "a command until it ends" },
    { "heapprof record 4242 --to chart -o chart.json && npx speedscope chart.json",
      "what came after what" },
    { 0 }
};

const struct cli_command cli_record_command = {
    .name = "record",
    .arguments = "[options] PID... | -- COMMAND...",
    .summary = "Record where a running Ruby spends its time",
    .description =
        "Looks at a process, or at a command from its start, many times a second, and writes how\n"
        "often it saw each stack. `heapprof stacks --help` says what rights it needs, and which\n"
        "threads it stops.\n"
        "\n"
        "It ends after --duration, at ^C, or when the process ends, and writes what it has. The\n"
        "last line on stderr says how many looks were taken, how many were due, and how many came\n"
        "too late. It also says how many stacks were read only in part (torn), and how many could\n"
        "not be read.",
    .readers = "only the owner of the file (mode 0600). It names the methods, files and threads "
               "that were seen.\n"
               "With another format and no --output it goes to stdout.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 100000,
    .operand = CLI_PIDS,
    .writes_output = true,
    .run = run,
};
