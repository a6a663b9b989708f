/* written.c - what the processes of `run` have written.
 *
 * The profiles are found by their names (the out template) and times. heapprof writes its messages
 * to stderr: stdout belongs to the command.
 */
#include "cli/written.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/processes.h"
#include "cli/several.h"
#include "report/overview.h"
#include "report/text.h"

#define ROWS 5

/* ---- which files ---- */

/* Returns the template as a pattern for glob: a letter after '%' stands for any text. */
static char *
pattern_of(const char *out)
{
    char *pattern = malloc(strlen(out) * 2 + 1), *to = pattern;

    if (!pattern) return NULL;
    for (; *out; out++) {
        if (*out == '%' && out[1] && *++out != '%') *to++ = '*';
        else {
            if (strchr("*?[\\", *out)) *to++ = '\\';
            *to++ = *out;
        }
    }
    *to = '\0';
    return pattern;
}

/* Returns the value of the last out in RUBY_HEAPPROF, in a block from malloc. */
static char *
out_of(const char *heapprof)
{
    const char *out = "heapprof-%p.pb.gz";
    size_t length = strlen(out);

    for (const char *at = heapprof; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, "out=", 4)) continue;
        out = at + 4;
        length = strcspn(out, ",");
    }
    return strndup(out, length);
}

static bool
since_p(const char *path, const struct timespec *start)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mtim.tv_sec > start->tv_sec ||
            (status.st_mtim.tv_sec == start->tv_sec && status.st_mtim.tv_nsec >= start->tv_nsec));
}

/* The profiles, in the order of their times. */
struct written {
    struct heapprof_model **models;
    const char **names;
    uint32_t *types;
    size_t    count;
};

/* Reads the files that were written since the start. Returns false if there is no memory. */
static bool
read_files(struct written *written, const struct cli *cli, const glob_t *found,
           const struct timespec *start)
{
    written->models = calloc(found->gl_pathc + 1, sizeof(*written->models));
    written->names = calloc(found->gl_pathc + 1, sizeof(*written->names));
    written->types = calloc(found->gl_pathc + 1, sizeof(*written->types));
    if (!written->models || !written->names || !written->types) return false;
    for (size_t i = 0; i < found->gl_pathc; i++) {
        const char *path = found->gl_pathv[i];
        if (!since_p(path, start)) continue;
        struct heapprof_model *model = cli_read(cli, path);
        if (!model) continue;
        written->names[written->count] = path;
        written->models[written->count++] = model;
    }
    if (!cli_sort_by_time(written->models, written->names, written->count)) return false;
    for (size_t i = 0; i < written->count; i++)
        written->types[i] = rb_heapprof_model_default_type(written->models[i]);
    return true;
}

/* ---- what is said ---- */

/* Says in a line what the process of that file has written, unless an earlier file is of the
 * process. Returns whether it has written several files. */
static bool
say_process(const struct written *written, size_t file)
{
    const struct heapprof_model *model = written->models[file];
    size_t count = 1, last = file;

    for (size_t i = 0; i < file; i++)
        if (cli_processes_same_p(written->models[i], model)) return true;
    for (size_t i = file + 1; i < written->count; i++) {
        if (!cli_processes_same_p(model, written->models[i])) continue;
        count++;
        last = i;
    }
    if (count == 1) report_print(stderr, "heapprof run: wrote %s\n", written->names[file]);
    else {
        report_print(stderr, "heapprof run: process %s wrote %zu files: %s to %s\n",
                     rb_heapprof_model_comment(model, "pid: "), count, written->names[file],
                     written->names[last]);
    }
    return count > 1;
}

/* Shows what grew, or what is largest. Returns false if there is no memory. */
static bool
show(struct written *written, bool growth)
{
    struct report_question question = {.group = REPORT_SITE, .frames = 3};
    struct report_look look = {.limit = ROWS, .width = cli_width(), .names = written->names};
    uint32_t count = (uint32_t)written->count;
    struct cli_processes processes;
    char sum[CLI_SUM_NAME_MAX];
    bool room = (growth ? cli_processes_find : cli_processes_last)(
        &processes, written->models, written->types, written->names, count);

    if (room) {
        if (growth) cli_processes_name(sum, &processes);
        else cli_sum_name(sum, written->names[0], count, count);
        question.together = processes.together;
        look.files = processes.together > 0 ? processes.files : 0;
        look.sum = sum;
        putc('\n', stderr);
        room = report_overview(stderr, &question, processes.models, processes.types,
                               processes.count, &look, report_table_text);
    }
    cli_processes_free(&processes);
    return room;
}

static void
say(const struct cli *cli, const glob_t *found, const struct timespec *start)
{
    struct written written = {0};
    bool room = read_files(&written, cli, found, start), growth = false;

    if (room && written.count == 0) {
        cli_wrong(cli, "no profile was written: is %s run by a ruby that has the heap profiler?",
                  cli->operands[0]);
    }
    else if (room) {
        for (size_t i = 0; i < written.count; i++) growth = say_process(&written, i) || growth;
        room = show(&written, growth);
    }
    if (!room) cli_wrong(cli, "no memory");
    while (written.count > 0) rb_heapprof_model_free(written.models[--written.count]);
    free(written.models);
    free(written.names);
    free(written.types);
}

void
cli_written_say(const struct cli *cli, const char *heapprof, const struct timespec *start)
{
    char *out = out_of(heapprof), *pattern = out ? pattern_of(out) : NULL;
    glob_t found = {0};

    if (pattern) {
        glob(pattern, 0, NULL, &found);
        say(cli, &found, start);
    }
    globfree(&found);
    free(pattern);
    free(out);
}
