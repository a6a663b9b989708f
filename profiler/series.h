#ifndef HEAPPROF_SERIES_H
#define HEAPPROF_SERIES_H
/* The files that one process writes, by one template (out.h): their names, and which are kept.
 *
 *     init -> next -> written -> next -> ...        fork, in a child
 *
 * One thread at a time uses a series. */
#include "profiler/options.h"
#include <limits.h>
#include <stdint.h>

/* A file that has been written and is kept. */
struct heapprof_series_file {
    char    *path;
    uint64_t number; /* how many files of the series came before it; 0: the first */
};

struct heapprof_series {
    char     out[HEAPPROF_OUT_MAX];
    char     directory[PATH_MAX]; /* where a relative path starts */
    bool     newest;              /* the newest files are kept, not the first and a thinned rest */
    bool     numbered;            /* there are several files, which %n counts */
    bool forked; /* in a child of fork: another process has a name without %p, too */
    long     pid;                 /* that %p stands for; 0: of the process that asks */
    bool     told;                /* tell_distinct has returned true */
    unsigned number;              /* number of the last file; 0: no file yet */
    unsigned keep;                /* how many files are kept; 0: all */
    struct heapprof_series_file *kept; /* the oldest first; has room for one more than keep */
    unsigned kept_count;
    uint64_t written;             /* files so far; a file that is replaced does not count again */
    unsigned base_bits;           /* levels are powers of 2 to the power of this (series.c) */
};

/* Begins a series. keep, 0 or more, matters only if the series is numbered. */
void rb_heapprof_series_init(struct heapprof_series *series, const char *out, const char *directory,
                             bool numbered, unsigned keep);

/* The absolute path of the next file. program is $0. In a numbered series whose template has %n, no
 * file of that name exists yet. Returns false if the path is too long. */
bool rb_heapprof_series_next(struct heapprof_series *series, const char *program, char *path,
                             size_t size);

/* The path that next would give if no file existed. */
bool rb_heapprof_series_first(const struct heapprof_series *series, const char *program,
                              char *path, size_t size);

/* The file at path has been written. If there is one too many, an older one is removed. The
 * first is never removed, and old files are thinned more than new ones (series.c). With keep =
 * 1, or if the newest are kept, the oldest is removed. */
void rb_heapprof_series_written(struct heapprof_series *series, const char *path);

/* To be called in the child of a fork: it writes files of its own, and the parent's files are
 * not its own. The parent's thread may have been using the series at that moment. */
void rb_heapprof_series_fork(struct heapprof_series *series);

/* Returns true, once, if names differ from the template because it has no %p. */
bool rb_heapprof_series_tell_distinct(struct heapprof_series *series);

/* Forgets which files were written. The files stay. */
void rb_heapprof_series_free(struct heapprof_series *series);

#endif
