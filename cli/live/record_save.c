/* record_save.c - what `record` has seen, as a file. */
#include "cli/live/record.h"

#include <string.h>

#include "os/file.h"
#include "report/export.h"
#include "report/text.h"

/* Why the profile is empty, and what to type instead. */
static void
say_nothing(const struct record_session *session)
{
    static const char *const why[] = {
        [ATTACH_RECORD_WALL] = "all threads were idle. --idle counts them, too; --mode off says "
                               "what they wait for",
        [ATTACH_RECORD_CPU] = "no thread ran at a look. --mode off says what they wait for",
        [ATTACH_RECORD_GVL] = "no thread had the GVL at a look. --mode off says what they wait for",
        [ATTACH_RECORD_OFF] = "no thread waited at a look. --mode wall says what they do",
    };

    fprintf(stderr, "heapprof record: nothing was counted, because %s\n",
            why[session->record.options.mode]);
}

static void
say_children(const struct record_session *session)
{
    const struct attach_processes *processes = &session->processes;
    char missed[REPORT_COUNT_MAX];

    if (processes->missed) {
        report_count(missed, processes->missed, "child", "children");
        fprintf(stderr, "heapprof record: %s ended before %s looked at\n", missed,
                processes->missed == 1 ? "it was" : "they were");
    }
    if (processes->forks.lost) {
        report_count(missed, processes->forks.lost, "process or thread",
                     "processes or threads");
        fprintf(stderr, "heapprof record: %s of this host ended between two looks, and may have "
                "been children: as root outside of a container, heapprof can tell\n", missed);
    }
}

static void
say_counts(const struct record_session *session)
{
    const struct attach_record *record = &session->record;
    const struct attach_pace *pace = &record->pace;
    struct attach_look_counts counts = record->counts;
    double seconds = (double)(record->looked_ns - record->began_ns) / 1e9;
    char looks[REPORT_COUNT_MAX], stacks[REPORT_COUNT_MAX], times[REPORT_COUNT_MAX];
    char due[REPORT_AMOUNT_MAX], late[REPORT_AMOUNT_MAX];
    char torn[REPORT_AMOUNT_MAX], failed[REPORT_AMOUNT_MAX];

    report_count(looks, pace->taken, "look", "looks");
    report_count(stacks, counts.stacks, "stack", "stacks");
    report_amount(due, (double)pace->asked, "count");
    report_amount(late, (double)pace->late, "count");
    report_amount(torn, (double)counts.torn, "count");
    report_amount(failed, (double)counts.failed, "count");
    fprintf(stderr,
            "heapprof record: %s in %.1f s (%s were due, %s came too late); %s, %s read in part "
            "(torn), %s not read\n", looks, seconds, due, late, stacks, torn, failed);
    if (counts.not_stopped) {
        report_count(times, counts.not_stopped, "time", "times");
        fprintf(stderr,
                "heapprof record: %s a thread could not be stopped, and was read as it ran\n",
                times);
    }
    say_children(session);
    if (!session->record.added) say_nothing(session);
    if (session->memory)
        fprintf(stderr, "heapprof record: it ended early, because there is no memory left\n");
}

/* A chart is a file for speedscope. Its samples are in the order of time. */
static report_export_i *
find_export(const char *name)
{
    if (!name) return NULL;
    return report_format_find(strcmp(name, "chart") ? name : "speedscope")->write;
}

/* Whether the names of the files are made here: the user wants several, or has given no name for a
 * profile, which is never written to a terminal. */
static bool
named_here_p(const struct record_session *session)
{
    const struct cli *cli = session->cli;

    return session->series.every > 0 ||
           (!cli->values[CLI_OUTPUT] && !find_export(cli->values[CLI_TO]));
}

/* Returns where the result is written; NULL for stdout. *failed: there is no name. */
static const char *
output_of(struct record_session *session, bool *failed)
{
    struct cli_series *series = &session->series;
    pid_t pid = session->processes.all[0].pid;

    *failed = false;
    if (!named_here_p(session)) return session->cli->values[CLI_OUTPUT];
    if (!series->files.out[0] && !cli_series_begin(series, pid, "-time", true)) *failed = true;
    else *failed = !cli_series_next(series);
    return *failed ? NULL : cli_series_name(series);
}

static int
write_model(struct record_session *session, const struct heapprof_model *model)
{
    struct cli *cli = session->cli;
    report_export_i *export = find_export(cli->values[CLI_TO]);
    bool failed, shown = cli->values[CLI_GROUP];
    int table = shown ? record_show(session, model) : CLI_DONE;

    if (table != CLI_DONE || (shown && !cli->values[CLI_OUTPUT])) return table;
    const char *out = output_of(session, &failed);
    int status = failed ? CLI_WRONG
                 : export ? cli_export(cli, export, model, out) : cli_save(cli, model, out);

    if (status != CLI_DONE) return status;
    if (named_here_p(session)) cli_series_written(&session->series);
    if (out && strcmp(out, "-")) report_print(stderr, "heapprof record: wrote %s\n", out);
    return status;
}

int
record_save(struct record_session *session)
{
    session->record.counts = attach_processes_counts(&session->processes);
    session->record.missed = session->processes.missed;
    struct heapprof_model *model =
        attach_record_model(&session->record, session->wall_began_ns);
    int status = model ? write_model(session, model) : cli_wrong(session->cli, "no memory");

    rb_heapprof_model_free(model);
    say_counts(session);
    return status;
}

/* A template is checked when the first file is written: its letters have no values yet. */
bool
record_writable_p(const struct record_session *session)
{
    const struct cli *cli = session->cli;
    const char *given = cli->values[CLI_OUTPUT], *out = given;
    bool template = given && session->series.every > 0 && strchr(given, '%');

    if (!given && named_here_p(session) && !cli->values[CLI_GROUP]) out = "heapprof-PID-time.pb.gz";
    int error = out && strcmp(out, "-") && !template ? rb_heapprof_file_check(out) : 0;
    if (error)
        cli_wrong(cli, "%s: %s%s", out, strerror(error),
                  given ? "" : "; say by --output where to write it");
    return !error;
}
