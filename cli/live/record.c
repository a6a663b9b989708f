/* record.c - heapprof record: shows where a running Ruby spends its time, seen from outside. */
#include "cli/live/record.h"

#include <stdlib.h>
#include <string.h>

#include "attach/processor.h"
#include "attach/rights.h"
#include "cli/live/attach.h"
#include "os/clock.h"
#include "report/text.h"

enum {RATE_MOST = 100000, SECONDS_MOST = 100000000};

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
    if (*end || end == text || !(seconds > 0 && seconds <= SECONDS_MOST)) {
        cli_usage(cli, "--duration=%s: give seconds, more than 0 and at most %d", text,
                  SECONDS_MOST);
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
    if (!strcmp(mode, "cpu")) return ATTACH_RECORD_CPU;
    return strcmp(mode, "off") ? ATTACH_RECORD_GVL : ATTACH_RECORD_OFF;
}

/* A series of files needs names. */
static bool
read_every(struct record_session *session, bool pprof)
{
    const struct cli *cli = session->cli;
    const char *out = cli->values[CLI_OUTPUT];

    if (!cli_series_options(&session->series, cli)) return false;
    if (session->series.every > 0 && (out ? !strcmp(out, "-") : !pprof)) {
        cli_usage(cli, "--every writes several files: give --output=FILE, "
                  "in which %%n is a number");
        return false;
    }
    return true;
}

/* A table is printed in place of a file, or beside a profile. */
static bool
read_group(struct record_session *session)
{
    const struct cli *cli = session->cli;
    const char *out = cli->values[CLI_OUTPUT], *wrong = NULL;

    if (!cli_number(cli, CLI_COUNT, 0, 20, &session->rows)) return false;
    if (!cli->values[CLI_GROUP]) return true;
    if (cli->values[CLI_TO]) wrong = "--to";
    else if (out && !strcmp(out, "-")) wrong = "--output=-";
    if (wrong) cli_usage(cli, "--group prints a table: leave %s out", wrong);
    return !wrong && cli_profile_name_p(cli);
}

/* Without --to, the name of the file says which format. Returns false after telling the user that
 * it does not. */
static bool
read_format(struct cli *cli)
{
    const char *named = cli_format_by_name(cli->values[CLI_OUTPUT]);

    if (cli->values[CLI_TO] || cli->values[CLI_GROUP]) return true;
    if (named && named[0]) cli->values[CLI_TO] = named;
    return cli->values[CLI_TO] || cli_profile_name_p(cli);
}

static bool
read_options(struct record_session *session)
{
    struct attach_record_options *options = &session->options;
    struct cli *cli = session->cli;
    const char *group = cli->values[CLI_GROUP];

    if (!read_format(cli)) return false;
    const char *format = cli->values[CLI_TO] ? cli->values[CLI_TO] : "pprof";
    bool firefox = !strcmp(format, "firefox"), labels = firefox || !strcmp(format, "pprof");
    bool chart = !strcmp(format, "chart");
    bool by_thread = group && !strcmp(group, "label:thread");

    if (!read_group(session) || !read_rate(cli, &session->period_ns) ||
        !read_duration(cli, &session->end_ns) || !read_every(session, labels))
        return false;
    *options = (struct attach_record_options){
        .mode = read_mode(cli->values[CLI_MODE]),
        .threads = firefox || by_thread || (cli->values[CLI_THREADS] && labels),
        .thread_frames = cli->values[CLI_THREADS] && !labels && !chart,
        .process_frames = !labels,
        .idle = cli->values[CLI_IDLE],
        .collections = cli->values[CLI_GC],
        .no_lines = cli->values[CLI_NO_LINES],
        .in_order = chart,
        .period_ns = session->period_ns,
    };
    return true;
}

/* Of a series that ends before it has looked again, there is no further file. */
static int
record_and_save(struct record_session *session)
{
    record_look(session);
    if (session->series.files.number && !session->record.pace.taken) return session->status;
    const char *why = why_not(session);
    int status = why ? cli_wrong(session->cli, "%s", why) : record_save(session);

    return status != CLI_DONE ? status : session->status;
}

/* A process that cannot be read is told, and the others are recorded. Returns false if an operand
 * means no process, or several. */
static bool
add_processes(struct record_session *session)
{
    const struct cli *cli = session->cli;
    int64_t pid;

    for (size_t i = 0; i < cli->operand_count; i++) {
        if (!cli_attach_pid(cli, cli->operands[i], &pid)) return false;
        struct attach_target *target = cli_attach_open_pid(cli, pid, CLI_ATTACH_AND_ALARMS);
        if (!target) continue;
        attach_target_close(target);
        if (!attach_processes_add(&session->processes, (pid_t)pid)) return false;
    }
    return session->processes.count > 0;
}

/* Says how a command is recorded, if the operands may be one. */
static void
say_command(const struct cli *cli)
{
    if (cli->operands[0][strspn(cli->operands[0], "0123456789")] == 0) return;
    fprintf(stderr, "heapprof record: to run a command, type heapprof record --");
    for (size_t i = 0; i < cli->operand_count; i++) report_print(stderr, " %s", cli->operands[i]);
    fputc('\n', stderr);
}

static int
record_processes(struct record_session *session)
{
    attach_processor_at_once();
    if (!add_processes(session)) {
        say_command(session->cli);
        return CLI_WRONG;
    }
    if (!session->end_ns && !session->series.every) session->end_ns = 10 * RECORD_SECOND_NS;
    record_begin(session, rb_heapprof_clock_ns(CLOCK_MONOTONIC));
    return record_and_save(session);
}

/* Returns the command's status, unless what was seen could not be written. */
static int
record_command(struct record_session *session)
{
    struct cli_child child;
    int64_t now_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    int error = cli_child_start(&child, session->cli->operands, NULL);

    record_begin(session, now_ns);
    if (error) return cli_child_not_run(session->cli, &child, error);
    session->child = &child;
    attach_processor_at_once();
    attach_rights_drop(ATTACH_RIGHTS_ALARMS);
    attach_processes_add(&session->processes, child.pid);
    int status = record_and_save(session);
    cli_child_wait(&child);
    return status == CLI_DONE ? cli_child_end_like(&child) : status;
}

static int
run(struct cli *cli)
{
    struct record_session session = {.cli = cli};

    if (cli->before_dashes && cli->before_dashes < cli->operand_count)
        return cli_usage(cli, "give processes, or a command behind --");
    if (!read_options(&session) || !cli_attach_native_usable_p(cli)) return CLI_USAGE;
    if (!record_writable_p(&session)) return CLI_WRONG;
    attach_processes_init(&session.processes, &session.record.names,
                          cli_attach_mode(cli->values[CLI_STOP]), cli->values[CLI_CHILDREN]);
    session.processes.wanted = attach_record_wanted(&session.options);
    attach_alarms_open(&session.alarms, attach_record_alarms_ns(&session.options));
    session.processes.alarms = &session.alarms;
    session.processes.native = cli_attach_native(cli);
    int status = cli->before_dashes ? record_processes(&session) : record_command(&session);
    attach_processes_free(&session.processes);
    attach_alarms_close(&session.alarms);
    attach_record_free(&session.record);
    cli_series_free(&session.series);
    return status;
}

static const struct cli_option options[] = {
    { CLI_RATE, NULL, "Look N times a second (default: 99)" },
    { CLI_DURATION, NULL, "How long to record (default: 10; a command: until it ends)" },
    { CLI_MODE, "wall cpu gvl off",
      "Which time counts. wall: all that is not idle. cpu: on a processor. gvl: with Ruby's global "
      "lock. off: waiting, and what for" },
    { CLI_STOP, "auto always never", "Which threads to stop while they are read (default: auto)" },
    { CLI_THREADS, NULL,
      "Count each thread by itself, as \"worker [4243]\": its native thread; \"[#2]\" is the "
      "second thread that was made, and has none of its own" },
    CLI_NATIVE_OPTIONS,
    { CLI_IDLE, NULL,
      "Also count threads that sleep, or wait for other threads or for the network" },
    { CLI_GC, NULL, "Show garbage collection as a function" },
    { CLI_CHILDREN, NULL, "Record child processes, too" },
    { CLI_NO_LINES, NULL, "Count by function, not by line" },
    { CLI_TO, "pprof collapsed speedscope chart svg callgrind firefox",
      "What to write. chart: what ran when. svg: a flame graph (default: pprof, or what the name "
      "of the file ends with: .svg, .folded, .speedscope.json)" },
    { CLI_GROUP, "function file gem app label:KEY",
      "Print a table of the time by that, as label:endpoint. A profile is written only if --output "
      "is given" },
    { CLI_COUNT, NULL, "Show at most N rows of that table; 0 shows all (default: 20)" },
    { CLI_OUTPUT, NULL,
      "Where to write it (default: a new heapprof-PID-time.pb.gz, heapprof-PID-time-2.pb.gz and so "
      "on; other formats: stdout). With --every, %p is the PID and %n counts" },
    { CLI_EVERY, NULL,
      "Write a file every SECONDS, until ^C or until the process ends. Each has the time since the "
      "one before" },
    { CLI_KEEP, NULL, "Keep the newest N of these. 0 keeps all (default: 10)" },
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof record 4242", "ten seconds of that process, a hundred times a second" },
    { "heapprof record --mode cpu --threads -o time.pb.gz -- bundle exec rake import",
      "a command until it ends" },
    { "heapprof record puma --mode cpu --group label:endpoint",
      "which endpoint computes most, if the program says which it serves" },
    { "heapprof record puma --every 60 --keep 10",
      "a flight recorder: the last ten minutes are always on disk" },
    { "heapprof record 4242 --to chart -o chart.json && npx speedscope chart.json",
      "what came after what" },
    { 0 }
};

const struct cli_command cli_record_command = {
    .name = "record",
    .arguments = "[options] PID|NAME... | -- COMMAND...",
    .summary = "Record where a running Ruby spends its time",
    .description =
        "Looks at a process, or at a command from its start, many times a second, and writes how\n"
        "often it saw each stack. `heapprof stacks --help` says how processes are named, what\n"
        "rights it needs, which threads it stops, and when a line is unknown. Other programs show\n"
        "such a line as 0. Of several processes, those that have ended are left out.\n"
        "\n"
        "Each look stands for the time since the look before, by the clock. So looks that come\n"
        "late cost detail, not time. The modes count:\n"
        "  wall  the time of each thread that runs, waits for a processor, for Ruby's global lock\n"
        "        (GVL), for a Mutex or for a disk. With --idle also the other threads\n"
        "  cpu   the time that the kernel has given to each thread on a processor. As root, or\n"
        "        where kernel.perf_event_paranoid is at most 1, a thread is also looked at each\n"
        "        time that it has run for a period: so the shares are right on a busy machine,\n"
        "        too. Elsewhere its time is counted where it is seen running next. \"(ran when\n"
        "        nobody looked)\" is what was never seen: threads that were too short, and\n"
        "        threads that are not Ruby's\n"
        "  gvl   the time of each thread that has the GVL\n"
        "  off   the time of each thread that waits. The innermost frame says for what, and so\n"
        "        does the label \"waits\": IO, lock, sleep, GVL, or run queue (for a processor)\n"
        "\n"
        "NAME is what a running Ruby is called, as \"puma\"; `heapprof ps` lists them. If several\n"
        "processes are given, each sample is labelled with the pid, title and container of its\n"
        "process, and formats without labels have the process as the outermost frame. With\n"
        "--children, processes that begin later are found by the kernel's list of forks, which\n"
        "needs root outside of a container, or else by their numbers at each look.\n"
        "\n"
        "If a program says what it is doing (ObjectSpace::HeapProfile.label(endpoint: ...)), each\n"
        "sample has that as labels: `heapprof top FILE --group label:endpoint`.\n"
        "\n"
        "It ends after --duration, at ^C, or when the process ends, and writes what it has. The\n"
        "last line on stderr says how many looks were taken, how many were due, and how many came\n"
        "too late. It also says how many stacks were read only in part (torn), and how many could\n"
        "not be read.",
    .readers = "only the owner of the file (mode 0600). It names the methods, files, threads and "
               "labels that were seen.\n"
               "With another format and no --output it goes to stdout.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 100000,
    .operand = CLI_PIDS,
    .writes_output = true,
    .run = run,
};
