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
    char        temporary[24]; /* "": no temporary file, name is written to as it is */
    bool        regular;       /* a regular file is there, or is made */
    bool        wait;          /* wait for a reader of a pipe */
    bool        follow;        /* name is a link of /proc to what has no path */
    const char *bytes;         /* what is left to write, the caller's */
    size_t      left;
    int         fd;            /* -1: not open yet */
};

/* Returns 0, or an errno: then no end is needed. With wait, a step waits until a process reads
 * the pipe. Without, a pipe that nobody reads is ENXIO. */
int rb_heapprof_file_begin(struct heapprof_file *file, const char *path,
                           const char *bytes, size_t size, bool wait);

/* Whether it is, or becomes, a regular file. A step of such a file does not wait for another
 * process. */
bool rb_heapprof_file_regular_p(const struct heapprof_file *file);

/* Opens and writes. Returns 0 if all is written; EINTR if it is to be called again; else an
 * errno. */
int rb_heapprof_file_step(struct heapprof_file *file);

/* Closes. If error is 0, the file gets its name; otherwise nothing is left behind. Returns
 * error, or what went wrong here. */
int rb_heapprof_file_end(struct heapprof_file *file, int error);

/* begin, step and end in one, whatever signals come. Returns 0 or an errno. */
int rb_heapprof_file_write_whole(const char *path, const char *bytes, size_t size, bool wait);

/* The same for a process that is at its limit of descriptors (EMFILE): a child writes, after it
 * has closed some of its own. Neither wait nor SIGCHLD tells of the child. Waits until the file
 * is written, but not until a pipe has a reader. Returns 0 or an errno. */
int rb_heapprof_file_write_in_child(const char *path, const char *bytes, size_t size);

/* Removes a file. Its path is walked as above. Returns 0 or an errno. */
int rb_heapprof_file_remove(const char *path);

/* Writes to fd. Returns how many bytes it has written, with errno set if these are not all.
 * SIGXFSZ does not reach the process. */
size_t rb_heapprof_file_write(int fd, const char *bytes, size_t size);

/* Returns 0 if a file could be made at path at this moment, or if the file there could be
 * written to; else an errno. Changes nothing. */
int rb_heapprof_file_check(const char *path);

#endif
