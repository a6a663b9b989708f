/* series.c - names of a process's files, and which of them are kept.
 *
 *   I1  no path is in kept twice: a file that replaces an earlier one counts as that one.
 *   I2  a file that is removed was written by this process, in this series.
 *   I3  a child of fork never writes to a name that its parent or a sibling has: the template has a
 *       %p, or gets one.
 *
 * Asks the file system what is there. No Ruby, no lock.
 *
 * The first file is kept, because growth is measured from the beginning. Of the rest, more of
 * the newer ones are kept. A file's level is how often its number can be halved:
 *
 *     number   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14
 *     level    *  0  1  0  2  0  1  0  3  0  1  0  2  0  1
 *     keep=10  |           |     |     |  |  |  |  |  |  |      the first; gaps 4, 2, 2, 1, 1, 1, 1, 1, 1
 *     keep=5   |                       |           |  |  |      the first; gaps 8, 4, 1, 1
 *
 * If there is one too many, the oldest file of the level with the most files is removed; of
 * several such levels, of the lowest. So each level keeps its newest files, about equally many.
 * In a stretch of time a level has half as many files as the level below it. If each level has
 * only one file, there are too many levels for keep. From then on two levels count as one,
 * later three, and so on (base_bits). Only the kept files themselves are remembered.
 *
 * Proof that each power of B = 2^base_bits has a file: the newest file of a level is never
 * removed, because a level from which a file is removed has another. Let N be the newest number
 * and B^l <= N. If N's digit l to the base B is 0, the newest of level l is N mod B^l + B^l
 * old. Otherwise the newest multiple of B^(l+1), which is the first file or the newest of its
 * level, is N mod B^(l+1) old. Both ages are in [B^l, B^(l+1)). B is the least with which one
 * file a level and the first fit into keep. test/unit/profiler/series_test.cc checks this with
 * thousands of files, and that gaps never grow towards the newest.
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
    series->base_bits = 1;
}

/* ---- names ---- */

static bool
expand(const struct heapprof_series *series, const char *out, const char *program, unsigned number,
       char *path, size_t size)
{
    struct heapprof_out_values values = {
        .pid = series->pid ? series->pid : getpid(),
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

/* Nothing is there, or a file that would be replaced: not a pipe or a device, which has one
 * name. */
static bool
replaceable_p(const char *path)
{
    struct stat there;

    return stat(path, &there) != 0 || S_ISREG(there.st_mode);
}

static bool
name(const struct heapprof_series *series, const char *program, unsigned number, char *path,
     size_t size)
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
rb_heapprof_series_next(struct heapprof_series *series, const char *program, char *path,
                        size_t size)
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
    series->written = 0;
    series->base_bits = 1;
}

/* ---- what is kept ---- */

#define NUMBER_BITS 64

static void
forget(struct heapprof_series *series, unsigned index)
{
    free(series->kept[index].path);
    series->kept_count--;
    memmove(series->kept + index, series->kept + index + 1,
            (series->kept_count - index) * sizeof(*series->kept));
}

/* Of a file that is not the first. */
static unsigned
level_of(const struct heapprof_series *series, unsigned index)
{
    return (unsigned)__builtin_ctzll(series->kept[index].number) / series->base_bits;
}

/* The lowest level that most files have. *count: how many. */
static unsigned
fullest_level(const struct heapprof_series *series, unsigned *count)
{
    unsigned counts[NUMBER_BITS] = {0}, fullest = 0;

    for (unsigned i = 1; i < series->kept_count; i++) counts[level_of(series, i)]++;
    for (unsigned level = 1; level < NUMBER_BITS; level++) {
        if (counts[level] > counts[fullest]) fullest = level;
    }
    *count = counts[fullest];
    return fullest;
}

/* Which of the kept files, one too many, is to go. */
static unsigned
superfluous(struct heapprof_series *series)
{
    unsigned count, index = 1;

    if (series->keep == 1 || series->newest) return 0;
    unsigned level = fullest_level(series, &count);
    while (count == 1) {
        series->base_bits++;
        level = fullest_level(series, &count);
    }
    while (level_of(series, index) != level) index++;
    return index;
}

/* Whether a file of that path is the newest one already. If it is an older one, that one has
 * been replaced. */
static bool
newest_p(struct heapprof_series *series, const char *path)
{
    for (unsigned i = 0; i < series->kept_count; i++) {
        if (strcmp(series->kept[i].path, path) != 0) continue;
        if (i == series->kept_count - 1) return true;
        forget(series, i);
        break;
    }
    return false;
}

void
rb_heapprof_series_written(struct heapprof_series *series, const char *path)
{
    if (series->keep == 0) return;
    if (!series->kept) series->kept = calloc((size_t)series->keep + 1, sizeof(*series->kept));
    if (!series->kept || newest_p(series, path)) return;
    char *copy = strdup(path);
    if (!copy) return; /* one more file stays */

    series->kept[series->kept_count++] = (struct heapprof_series_file){copy, series->written++};
    if (series->kept_count > series->keep) {
        unsigned index = superfluous(series);
        rb_heapprof_file_remove(series->kept[index].path);
        forget(series, index);
    }
}

void
rb_heapprof_series_free(struct heapprof_series *series)
{
    while (series->kept_count > 0) forget(series, series->kept_count - 1);
    free(series->kept);
    series->kept = NULL;
}
