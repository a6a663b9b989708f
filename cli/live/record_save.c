/* record_save.c - what `record` has seen, as a file. */
#include "cli/live/record.h"

#include <inttypes.h>
#include <string.h>

#include "base/version.h"
#include "os/clock.h"
#include "os/file.h"
#include "report/export.h"
#include "report/text.h"

enum {COMMENTS_MOST = 17};

static void
say_counts(const struct record_session *session, int64_t duration_ns)
{
    struct attach_look_counts counts = attach_processes_counts(&session->processes);
    char looks[REPORT_COUNT_MAX], stacks[REPORT_COUNT_MAX], times[REPORT_COUNT_MAX];

    report_count(looks, session->taken, "look", "looks");
    report_count(stacks, counts.stacks, "stack", "stacks");
    fprintf(stderr,
            "heapprof record: %s in %.1f s (%" PRIu64 " were due, %" PRIu64 " came too late); "
            "%s, %" PRIu64 " read in part (torn), %" PRIu64 " not read\n",
            looks, (double)duration_ns / (double)RECORD_SECOND_NS, session->asked, session->late,
            stacks, counts.torn, counts.failed);
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
model_of(struct record_session *session, int64_t duration_ns)
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
output_of(const struct record_session *session, char *name, size_t size)
{
    const char *out = session->cli->values[CLI_OUTPUT];

    if (out || find_export(session->cli->values[CLI_TO])) return out;
    snprintf(name, size, "heapprof-%d-time.pb.gz", (int)session->processes.all[0].pid);
    return name;
}

static int
write_model(struct record_session *session, const struct heapprof_model *model)
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

int
record_save(struct record_session *session)
{
    int64_t duration_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - session->began_ns;
    struct heapprof_model *model = model_of(session, duration_ns);
    int status = model ? write_model(session, model) : cli_wrong(session->cli, "no memory");

    rb_heapprof_model_free(model);
    say_counts(session, duration_ns);
    return status;
}

bool
record_writable_p(const struct cli *cli)
{
    const char *out = cli->values[CLI_OUTPUT];
    int error = out && strcmp(out, "-") ? rb_heapprof_file_check(out) : 0;

    if (error) cli_wrong(cli, "%s: %s", out, strerror(error));
    return !error;
}
