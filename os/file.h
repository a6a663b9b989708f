#ifndef HEAPPROF_FILE_H
#define HEAPPROF_FILE_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A file that appears under its name only when it is complete: it is written to a temporary name
 * in its directory (.heapprof- and 8 random characters, mode 0600), then renamed. A path that is
 * there and no regular file (a pipe, a device) is written to as it is, and may block.
 *
 *     begin -> step, again after each EINTR -> end
 *
 * A link is followed only where nobody else may put one: in a directory that belongs to root or
 * to us, and that neither its group nor others may write to. This holds for each component of the
 * path and of what a link leads to; anywhere else a link is ELOOP. What a followed link leads to
 * is replaced, and the link stays. In a directory that others may write to, what is there and no
 * regular file has to belong to root or to us, or it is EACCES.
 *
 * Needs no GVL. A signal is the caller's: step gives way to it and goes on when called again. But
 * SIGXFSZ, which would end the process, is not seen: what is too large is EFBIG. */
struct heapprof_file {
    int         directory;     /* where name is */
    char        name[NAME_MAX + 1];
    char        temporary[24]; /* "": none, name is written to as it is */
    bool        regular;       /* there, or to be made */
    bool        wait;          /* for a reader of a pipe */
    bool        follow;        /* name is a link of /proc to what has no path */
    const char *bytes;         /* left to write, the caller's */
    size_t      left;
    int         fd;            /* -1: not open yet */
};

/* 0, or errno; then nothing needs an end. With wait, a step waits until somebody reads a pipe;
 * otherwise a pipe without a reader is ENXIO. */
int rb_heapprof_file_begin(struct heapprof_file *file, const char *path,
                           const char *bytes, size_t size, bool wait);

/* Whether it is, or becomes, a regular file: a step does not wait for another process. */
bool rb_heapprof_file_regular_p(const struct heapprof_file *file);

/* Opens and writes. 0 when all is written; EINTR: call it again; else errno. */
int rb_heapprof_file_step(struct heapprof_file *file);

/* Closes; with error 0 the file gets its name, otherwise nothing is left behind. Returns error,
 * or what went wrong here. */
int rb_heapprof_file_end(struct heapprof_file *file, int error);

/* begin, step and end, whatever signals come. 0, or errno. */
int rb_heapprof_file_write_whole(const char *path, const char *bytes, size_t size, bool wait);

/* The same for a process at its limit of descriptors (EMFILE): in a child, which closes some of its
 * own. Neither wait nor SIGCHLD tells of it. Waits until the file is written, but not for a reader
 * of a pipe. 0, or errno. */
int rb_heapprof_file_write_in_child(const char *path, const char *bytes, size_t size);

/* Removes a file, of a path walked as above. 0, or errno. */
int rb_heapprof_file_remove(const char *path);

/* The number of bytes written, and errno when they are not all. SIGXFSZ is not seen. */
size_t rb_heapprof_file_write(int fd, const char *bytes, size_t size);

/* 0 when a file could be made at path now, or what is there written to as it is; else errno.
 * Changes nothing. */
int rb_heapprof_file_check(const char *path);

#endif
