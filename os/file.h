#ifndef HEAPPROF_FILE_H
#define HEAPPROF_FILE_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A file that appears under its name only when it is complete: it is written to a temporary
 * name beside it, then renamed. A link stays, and what it leads to is replaced. A path that is
 * there and no regular file (a pipe, a device) is written to as it is, and may block.
 *
 *     begin -> step, again after each EINTR -> end
 *
 * Needs no GVL. A signal is the caller's: step gives way to it and goes on when called again. */
struct heapprof_file {
    char        target[PATH_MAX];
    char        temporary[PATH_MAX]; /* "": target is written to as it is */
    const char *bytes;               /* left to write, the caller's */
    size_t      left;
    int         fd;                  /* -1: not open yet */
};

/* 0, or errno; then nothing needs an end. */
int rb_heapprof_file_begin(struct heapprof_file *file, const char *path,
                           const char *bytes, size_t size);

/* Whether it is, or becomes, a regular file: a step does not wait for another process. */
bool rb_heapprof_file_regular_p(const struct heapprof_file *file);

/* Opens and writes. 0 when all is written; EINTR: call it again; else errno. */
int rb_heapprof_file_step(struct heapprof_file *file);

/* Closes; with error 0 the file gets its name, otherwise nothing is left behind. Returns error,
 * or what went wrong here. */
int rb_heapprof_file_end(struct heapprof_file *file, int error);

#endif
