#ifndef HEAPPROF_FILE_H
#define HEAPPROF_FILE_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A file that appears under its name only when it is complete. It is written to a temporary name
 * in its directory (.heapprof- and 8 random characters, mode 0600), then renamed. If something
 * other than a regular file is at the path (a pipe, a device), it is written to as it is, and
 * writing may block.
 *
 *     begin -> step, again after each EINTR -> end
 *
 * A link is followed only where no other user may put one: in a directory that belongs to root or
 * to us, and that neither its group nor other users may write to. This holds for each component of
 * the path, and for each component of what a link leads to. Anywhere else a link is ELOOP. The file
 * that a followed link leads to is replaced, and the link stays. In a directory that other users
 * may write to, anything but a regular file has to belong to root or to us. If not, it is EACCES.
 *
 * Needs no GVL. Signals are the caller's: step gives way to a signal, and goes on when it is called
 * again. But SIGXFSZ, which would end the process, is not seen: a file too large is EFBIG. */
struct heapprof_file {
    int         directory;     /* where name is */
    char        name[NAME_MAX + 1];
    char        temporary[24]; /* "": no temporary file, name is written to as it is */
    bool        regular;       /* a regular file is there, or is made */
    bool        wait;          /* wait for a reader of a pipe */
    bool        follow;        /* name is a link of /proc to something without a path */
    const char *bytes;         /* the bytes left to write, the caller's */
    size_t      left;
    int         fd;            /* -1: not open yet */
};

/* Returns 0 or an errno. After an errno the caller does not call end. With wait, a step waits
 * until a process reads the pipe. Without wait, a pipe without a reader is ENXIO. */
int rb_heapprof_file_begin(struct heapprof_file *file, const char *path,
                           const char *bytes, size_t size, bool wait);

/* Returns whether it is, or becomes, a regular file. A step of such a file does not wait for
 * another process. */
bool rb_heapprof_file_regular_p(const struct heapprof_file *file);

/* Opens and writes. Returns 0 if all is written. Returns EINTR if the caller has to call it
 * again, else another errno. */
int rb_heapprof_file_step(struct heapprof_file *file);

/* Closes. If error is 0, the file gets its name; otherwise nothing is left behind. Returns
 * error, or the errno of a failure here. */
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
