/* snapshot.c - heapprof snapshot: writes the heap profile of a running process, read from
 * outside. */
#include "cli/cli.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/heap.h"
#include "attach/origin.h"
#include "cli/interrupt.h"
#include "cli/live/attach.h"
#include "cli/live/series.h"
#include "os/file.h"
#include "pprof/gzip.h"
#include "profiler/pprof.h"
#include "report/text.h"

enum { END_MS = 1000 }; /* how long a process may take from the end of its profiler to its own */

struct snapshot_session {
    struct cli *cli;
    struct attach_target *target;
    struct attach_vm *vm;
    struct attach_stop *stop;   /* NULL if the process is not to be stopped */
    struct cli_series series;
    bool     written;           /* there is a file */
    bool     over;              /* the process has ended since */
};

/* ---- one file ---- */

static char *
encode(struct attach_vm *vm, const struct heapprof_snapshot *snapshot, size_t *size)
{
    char build[ATTACH_HEAP_BUILD_MAX];
    size_t plain_size;

    attach_heap_build(vm, build);
    char *plain = rb_heapprof_pprof_encode(snapshot, "ruby", build, &plain_size);
    char *packed = plain ? rb_heapprof_gzip(plain, plain_size, size) : NULL;

    free(plain);
    return packed;
}

static int
write_file(struct snapshot_session *session, const struct heapprof_snapshot *snapshot)
{
    struct cli *cli = session->cli;
    size_t size;
    char *bytes = encode(session->vm, snapshot, &size);
    const char *path = bytes ? cli_series_next(&session->series) : NULL;
    int error = path ? rb_heapprof_file_write_whole(path, bytes, size, true) : 0;

    free(bytes);
    if (!bytes) return cli_wrong(cli, "no memory");
    if (!path) return CLI_WRONG;
    if (error) return cli_wrong(cli, "%s: %s", path, strerror(error));
    cli_series_written(&session->series);
    session->written = true;
    return CLI_DONE;
}

static void
say(const struct snapshot_session *session, const struct heapprof_snapshot *snapshot,
    const struct attach_heap_counts *counts)
{
    char samples[REPORT_COUNT_MAX];

    report_count(samples, snapshot->facts.live_samples, "sample", "samples");
    report_print(stderr, "heapprof snapshot: wrote %s: %s alive", session->series.path, samples);
    if (counts->stops)
        fprintf(stderr, ", process stopped for %.1f ms", (double)counts->stopped_ns / 1e6);
    fputc('\n', stderr);
}

/* Whether the process has ended, or is about to. Before it ends it stops the profiler. */
static bool
ends_p(const struct snapshot_session *session)
{
    struct pollfd end = { .fd = session->target->end_fd, .events = POLLIN };

    return attach_target_state(session->target) == ATTACH_TARGET_ENDED ||
           (end.fd >= 0 && poll(&end, 1, END_MS) > 0);
}

/* That a process ends after a file was written is no error. */
static int
take(struct snapshot_session *session)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_heap_counts counts = {0};
    struct heapprof_snapshot *snapshot =
        attach_heap_read(session->vm, session->stop, &counts, error);

    if (!snapshot) {
        session->over = session->written && ends_p(session);
        return session->over ? CLI_DONE : cli_wrong(session->cli, "%s", error);
    }
    attach_origin_of_target(session->target, snapshot);
    int status = write_file(session, snapshot);
    if (status == CLI_DONE) say(session, snapshot, &counts);
    rb_heapprof_snapshot_free(snapshot);
    return status;
}

/* ---- several ---- */

static void
sleep_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL); /* a signal ends the sleep */
}

/* Takes profiles until it is interrupted, or until the process ends or executes another program. */
static int
take_every(struct snapshot_session *session)
{
    enum attach_target_state state = ATTACH_TARGET_SAME;
    int status = take(session);

    cli_interrupt_begin();
    while (status == CLI_DONE && !cli_interrupted && !session->over) {
        sleep_for(session->series.every);
        if (cli_interrupted) break;
        state = attach_target_state(session->target);
        session->over = state != ATTACH_TARGET_SAME;
        if (!session->over) status = take(session);
    }
    if (session->over) {
        fprintf(stderr, "heapprof snapshot: %s %s\n", session->target->name,
                state == ATTACH_TARGET_REPLACED ? "executes another program now" : "has ended");
    }
    return status;
}

/* Shows what has grown since OLD, as heapprof diff shows it. */
static int
show_difference(struct snapshot_session *session)
{
    char *operands[] = {(char *)session->cli->values[CLI_DIFF], session->series.path};
    struct cli diff = {.command = cli_find("diff"), .operands = operands, .operand_count = 2};

    return diff.command->run(&diff);
}

/* ---- the command ---- */

static int
take_all(struct snapshot_session *session)
{
    struct cli *cli = session->cli;

    if (!cli_series_begin(&session->series, session->target->pid, "", false))
        return cli->values[CLI_OUTPUT] ? CLI_USAGE : CLI_WRONG;
    int status = session->series.every > 0 ? take_every(session) : take(session);
    if (status == CLI_DONE && cli->values[CLI_DIFF]) status = show_difference(session);
    cli_series_free(&session->series);
    return status;
}

static int
attach(struct snapshot_session *session)
{
    struct cli *cli = session->cli;
    char error[ATTACH_TARGET_ERROR_MAX];
    const char *whom = cli->values[CLI_STOP];

    session->vm = attach_vm_open(session->target, error);
    if (!session->vm) return cli_wrong(cli, "%s", error);
    if (session->target->runs && !(whom && !strcmp(whom, "never"))) {
        session->stop = attach_stop_new(session->target->pid);
    }
    int status = take_all(session);
    attach_stop_free(session->stop);
    attach_vm_close(session->vm);
    return status;
}

static int
run(struct cli *cli)
{
    struct snapshot_session session = {.cli = cli};
    const char *core = cli->values[CLI_CORE];

    if ((core != NULL) == (cli->operand_count == 1))
        return cli_usage(cli, "give either a PID or --core=FILE");
    if (!cli_profile_name_p(cli) || !cli_series_options(&session.series, cli)) return CLI_USAGE;
    session.target = cli_attach_open(cli, core ? core : cli->operands[0],
                                     core ? CLI_ATTACH_CORE : CLI_ATTACH_PROCESS);
    if (!session.target) return CLI_WRONG;
    int status = attach(&session);
    attach_target_close(session.target);
    return status;
}

static const struct cli_option options[] = {
    { CLI_OUTPUT, NULL,
      "Where to write it. %p is the PID, %n counts (default: a new heapprof-PID.pb.gz, "
      "heapprof-PID-2.pb.gz and so on)" },
    { CLI_EVERY, NULL, "Take one every SECONDS, until ^C or until the process ends" },
    { CLI_KEEP, NULL,
      "Keep N of these: the first, and more of the newer than of the older ones. 1 keeps the "
      "newest, 0 all (default: 10)" },
    { CLI_DIFF, NULL, "Show what grew since that profile" },
    { CLI_STOP, "auto never",
      "Whether to stop the process. auto: for milliseconds, if it changes all the time" },
    { CLI_CORE, NULL, "Read a core file instead of a process" },
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof snapshot 4242", "the heap of that process, now" },
    { "heapprof snapshot 4242 -o new.pb.gz --diff old.pb.gz", "and what grew since" },
    { "heapprof snapshot 4242 --every 60 --keep 10",
      "one a minute; ten are kept, the first among them" },
    { "heapprof snapshot --core core.4242", "what a process held when it ended" },
    { 0 }
};

const struct cli_command cli_snapshot_command = {
    .name = "snapshot",
    .arguments = "[options] PID",
    .summary = "Take the heap profile of a running process",
    .description =
        "Reads the heap profile of a process that runs under RUBY_HEAPPROF, from outside. The\n"
        "process does nothing for it: it may be idle, in a loop, or in C code that never returns.\n"
        "With RUBY_HEAPPROF=1,out= the process writes no file of its own.\n"
        "\n"
        "The file has what ObjectSpace::HeapProfile.snapshot has at that moment, with three\n"
        "differences: no garbage collection is started, the file does not say which objects hold\n"
        "malloc'ed memory, and RSS is not explained.\n"
        "\n"
        "The process has to be of the same build as this program. `heapprof stacks --help` says\n"
        "what rights it needs.",
    .readers =
        "only the owner of the file (mode 0600): the user who runs heapprof, not the user of the "
        "process.\n"
        "It names methods, classes, files and the command line, but has no contents of objects.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 1,
    .operand = CLI_PIDS,
    .writes_output = true,
    .run = run,
};
