/* record.c - heapprof record: shows where a running Ruby spends its time, seen from outside. */
#include "cli/live/record.h"

#include <stdlib.h>
#include <string.h>

#include "attach/rights.h"
#include "cli/live/attach.h"

enum {RATE_MOST = 100000};

/* Returns why nothing was seen, or NULL if something was seen. */
static const char *
why_not(const struct record_session *session)
{
    if (session->processes.was_open) return NULL;
    const char *error = session->processes.count ? session->processes.all[0].error : "";
    return *error ? error : "it ended before it was looked at";
}

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
    *period_ns = RECORD_SECOND_NS / (rate < RATE_MOST ? rate : RATE_MOST);
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
read_options(struct record_session *session, struct attach_record_options *options)
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

static int
record_and_save(struct record_session *session)
{
    record_look(session);
    const char *why = why_not(session);
    return why ? cli_wrong(session->cli, "%s", why) : record_save(session);
}

/* Whether the text is a number, and so a process. Any other text is a command. */
static bool
pid_p(const char *text)
{
    return text[strspn(text, "-0123456789")] == 0;
}

static bool
add_pids(struct record_session *session)
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
record_pids(struct record_session *session)
{
    if (!add_pids(session)) return CLI_WRONG;
    if (!session->end_ns) session->end_ns = 10 * RECORD_SECOND_NS;
    return record_and_save(session);
}

/* Returns the command's status, unless what was seen could not be written. */
static int
record_command(struct record_session *session)
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
    struct record_session session = {.cli = cli};
    struct attach_record_options options;
    int status;

    if (!read_options(&session, &options)) return CLI_USAGE;
    if (!record_writable_p(cli)) return CLI_WRONG;
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
