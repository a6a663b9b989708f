#ifndef HEAPPROF_SERIES_H
#define HEAPPROF_SERIES_H
/* The files that one process writes, by one template (out.h): their names, and which are kept.
 *
 *     init -> next -> written -> next -> ...        forked, in a child
 *
 * Of the caller's, one thread at a time. */
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
    char     directory[PATH_MAX]; /* where a relative one starts */
    bool     numbered;            /* several files: %n counts them */
    bool     forked;              /* of a child: a name without %p is somebody else's, too */
    bool     told;                /* somebody has asked whether a name was made distinct */
    unsigned number;              /* of the last file; 0: none yet */
    unsigned keep;                /* so many are kept, 0: all */
    struct heapprof_series_file *kept; /* the oldest first; room for one more than keep */
    unsigned kept_count;
    uint64_t written;             /* files so far, of which one that is replaced is one */
    unsigned base_bits;           /* ages are told apart by powers of 2 to the power of this; see series.c */
};

/* keep is 0 or more for the files of a series that is numbered. */
void rb_heapprof_series_init(struct heapprof_series *series, const char *out, const char *directory,
                             bool numbered, unsigned keep);

/* The path of the next file, absolute; program is $0. In a numbered series, where the template has %n, no
 * file is there yet. False: too long. */
bool rb_heapprof_series_next(struct heapprof_series *series, const char *program, char *path, size_t size);

/* The path that next would give, if nothing is there. */
bool rb_heapprof_series_first(const struct heapprof_series *series, const char *program,
                              char *path, size_t size);

/* It has been written. If it is one too many, one of the others is removed: never the first, and of the rest the old ones
 * are thinned more than the new ones (series.c). With keep = 1 only the newest is left. */
void rb_heapprof_series_written(struct heapprof_series *series, const char *path);

/* In the child of a fork: its files are to be its own, and those of its parent are not. Whatever the
 * parent's thread was about to do with the series. */
void rb_heapprof_series_fork(struct heapprof_series *series);

/* True, once, if names are not as the template says, because it lacks a %p. */
bool rb_heapprof_series_tell_distinct(struct heapprof_series *series);

/* Forgets which files were written; they stay. */
void rb_heapprof_series_free(struct heapprof_series *series);

#endif
