/* series.c - names of files that are written of a process.
 *
 * A name that the user gives is obeyed: a file there is replaced. A name that the user has not
 * given is a new one. */
#include "cli/live/series.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/host.h"
#include "profiler/out.h"

enum { SECONDS_MOST = 604800, NAMES_MOST = 100000 };

bool
cli_series_options(struct cli_series *series, const struct cli *cli)
{
    const char *every = cli->values[CLI_EVERY];
    char *end = NULL;

    *series = (struct cli_series){ .cli = cli };
    series->every = every ? strtod(every, &end) : 0;
    if (every && (end == every || *end ||
                  !(series->every >= 0.01 && series->every <= SECONDS_MOST))) {
        cli_usage(cli, "--every=%s: give seconds, from 0.01 to %d", every, SECONDS_MOST);
        return false;
    }
    return cli_number(cli, CLI_KEEP, 0, 10, &series->keep);
}

/* A name that no file has: "heapprof-42.pb.gz", "heapprof-42-2.pb.gz". Returns false if all are
 * taken. */
static bool
find_free(char name[HEAPPROF_OUT_MAX], pid_t pid, const char *ending)
{
    struct stat there;

    snprintf(name, HEAPPROF_OUT_MAX, "heapprof-%d%s.pb.gz", (int)pid, ending);
    for (unsigned number = 2; lstat(name, &there) == 0; number++) {
        if (number > NAMES_MOST) return false;
        snprintf(name, HEAPPROF_OUT_MAX, "heapprof-%d%s-%u.pb.gz", (int)pid, ending, number);
    }
    return true;
}

/* Writes the template that the user gives, with the process's number in place of %p. Otherwise %p
 * would be heapprof's own number. Returns false if it is not a template, or too long. */
static bool
fill_in_pid(char out[HEAPPROF_OUT_MAX], pid_t pid, const char *given)
{
    size_t length = 0;

    for (; *given && length < HEAPPROF_OUT_MAX - 16; given++) {
        if (given[0] == '%' && given[1] == 'p') {
            length += (size_t)snprintf(out + length, HEAPPROF_OUT_MAX - length, "%d", (int)pid);
            given++;
        }
        else {
            if (given[0] == '%' && given[1]) out[length++] = *given++;
            out[length++] = *given;
        }
    }
    out[length] = 0;
    return !*given && rb_heapprof_out_template_p(out, length);
}

static bool
name_files(const struct cli_series *series, char out[HEAPPROF_OUT_MAX], pid_t pid,
           const char *ending)
{
    const char *given = series->cli->values[CLI_OUTPUT];

    if (given) {
        if (fill_in_pid(out, pid, given)) return true;
        cli_usage(series->cli, "--output=%s: after %% give one of p (PID), e (program), t (time), "
                  "n (number), %%", given);
        return false;
    }
    if (series->every > 0)
        snprintf(out, HEAPPROF_OUT_MAX, "heapprof-%d%s-%%n.pb.gz", (int)pid, ending);
    else if (!find_free(out, pid, ending)) {
        cli_wrong(series->cli, "%s: exists, and so do all names like it; give --output", out);
        return false;
    }
    return true;
}

bool
cli_series_begin(struct cli_series *series, pid_t pid, const char *ending, bool newest)
{
    struct attach_host_process process = { .pid = pid };
    char out[HEAPPROF_OUT_MAX], directory[PATH_MAX];

    if (!name_files(series, out, pid, ending)) return false;
    if (!getcwd(directory, sizeof(directory))) strcpy(directory, "/");
    rb_heapprof_series_init(&series->files, out, directory, series->every > 0,
                            (unsigned)series->keep);
    series->files.newest = newest;
    attach_host_read_names(&process);
    snprintf(series->program, sizeof(series->program), "%s",
             *process.name ? process.name : "ruby");
    return true;
}

const char *
cli_series_next(struct cli_series *series)
{
    if (rb_heapprof_series_next(&series->files, series->program, series->path,
                                sizeof(series->path)))
        return series->path;
    cli_wrong(series->cli, "--output=%s: the name of the file is too long",
              cli_name(series->files.out));
    return NULL;
}

void
cli_series_written(struct cli_series *series)
{
    rb_heapprof_series_written(&series->files, series->path);
}

const char *
cli_series_name(const struct cli_series *series)
{
    size_t length = strlen(series->files.directory);

    return series->files.out[0] == '/' ? series->path : series->path + length + 1;
}

void
cli_series_free(struct cli_series *series)
{
    rb_heapprof_series_free(&series->files);
}
