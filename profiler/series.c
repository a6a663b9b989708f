/* series.c - names of a process's files, and which of them are kept.
 *
 *   I1  no path is in kept twice: a file that replaces one written before is that one.
 *   I2  what is removed was written by this process, in this series.
 *   I3  a child of fork never writes to a name that its parent or a sibling has: the template has
 *       its pid, or gets it.
 *
 * Asks the file system what is there. No Ruby, no lock.
 */
#include "profiler/series.h"

#include "os/file.h"
#include "profiler/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NUMBER_LIMIT 1000000 /* more than this of one name are not passed over */

void
rb_heapprof_series_init(struct heapprof_series *series, const char *out, const char *directory,
                        bool numbered, unsigned keep)
{
    memset(series, 0, sizeof(*series));
    snprintf(series->out, sizeof(series->out), "%s", out);
    snprintf(series->directory, sizeof(series->directory), "%s", directory);
    series->numbered = numbered;
    series->keep = keep;
}

/* ---- names ---- */

static bool
expand(const struct heapprof_series *series, const char *out, const char *program, unsigned number,
       char *path, size_t size)
{
    struct heapprof_out_values values = {
        .pid = getpid(),
        .program = program,
        .time = time(NULL),
        .number = number,
    };
    char expanded[PATH_MAX];

    if (!rb_heapprof_out_expand(out, &values, expanded, sizeof(expanded))) return false;
    int length = snprintf(path, size, "%s%s%s", expanded[0] == '/' ? "" : series->directory,
                          expanded[0] == '/' ? "" : "/", expanded);
    return length >= 0 && (size_t)length < size;
}

/* Nothing is there, or a file that would be replaced: not a pipe or a device, which has one name. */
static bool
replaceable_p(const char *path)
{
    struct stat there;

    return stat(path, &there) != 0 || S_ISREG(there.st_mode);
}

static bool
name(const struct heapprof_series *series, const char *program, unsigned number, char *path, size_t size)
{
    char out[HEAPPROF_OUT_MAX + 3];

    if (!expand(series, series->out, program, number, path, size)) return false;
    if (!series->forked || !replaceable_p(path)) return true;
    rb_heapprof_out_with_pid(series->out, out, sizeof(out));
    return expand(series, out, program, number, path, size);
}

static bool
there_p(const char *path)
{
    struct stat there;

    return lstat(path, &there) == 0;
}

bool
rb_heapprof_series_first(const struct heapprof_series *series, const char *program,
                         char *path, size_t size)
{
    return name(series, program, series->number + series->numbered, path, size);
}

bool
rb_heapprof_series_next(struct heapprof_series *series, const char *program, char *path, size_t size)
{
    bool passes = series->numbered && rb_heapprof_out_letter_p(series->out, 'n');

    for (;;) {
        if (!rb_heapprof_series_first(series, program, path, size)) return false;
        series->number += series->numbered;
        if (!passes || series->number >= NUMBER_LIMIT || !there_p(path)) return true;
    }
}

bool
rb_heapprof_series_tell_distinct(struct heapprof_series *series)
{
    bool tell = series->forked && !series->told && !rb_heapprof_out_letter_p(series->out, 'p');

    series->told = true;
    return tell;
}

void
rb_heapprof_series_fork(struct heapprof_series *series)
{
    series->forked = true;
    series->number = 0;
    series->kept = NULL; /* not freed: the parent's thread may have been at it */
    series->kept_count = 0;
}

/* ---- what is kept ---- */

static void
forget(struct heapprof_series *series, unsigned index)
{
    free(series->kept[index]);
    series->kept_count--;
    memmove(series->kept + index, series->kept + index + 1,
            (series->kept_count - index) * sizeof(*series->kept));
}

void
rb_heapprof_series_written(struct heapprof_series *series, const char *path)
{
    unsigned i;

    if (series->keep == 0) return;
    if (!series->kept) series->kept = calloc((size_t)series->keep + 1, sizeof(*series->kept));
    char *copy = series->kept ? strdup(path) : NULL;
    if (!copy) return; /* one more file stays */

    for (i = 0; i < series->kept_count; i++) {
        if (strcmp(series->kept[i], path) == 0) {
            forget(series, i);
            break;
        }
    }
    series->kept[series->kept_count++] = copy;
    if (series->kept_count > series->keep) {
        rb_heapprof_file_remove(series->kept[0]);
        forget(series, 0);
    }
}

void
rb_heapprof_series_free(struct heapprof_series *series)
{
    while (series->kept_count > 0) forget(series, series->kept_count - 1);
    free(series->kept);
    series->kept = NULL;
}
