/* file.c - writes a whole file or none, in steps that a signal may come between. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* realpath, O_CLOEXEC */
#endif
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
regular_or_new_p(const char *path)
{
    struct stat there;
    return stat(path, &there) != 0 || S_ISREG(there.st_mode);
}

int
rb_heapprof_file_begin(struct heapprof_file *file, const char *path,
                       const char *bytes, size_t size)
{
    static unsigned writes; /* threads that write the same path each have a file of their own */
    int length = 0;

    file->bytes = bytes;
    file->left = size;
    file->fd = -1;
    file->temporary[0] = '\0';
    if (!realpath(path, file->target)) {
        if (strlen(path) >= sizeof(file->target)) return ENAMETOOLONG;
        strcpy(file->target, path);
    }
    if (regular_or_new_p(file->target)) {
        length = snprintf(file->temporary, sizeof(file->temporary), "%s.%ld-%u.tmp", file->target,
                          (long)getpid(), __atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED));
    }
    return length < 0 || (size_t)length >= sizeof(file->temporary) ? ENAMETOOLONG : 0;
}

bool
rb_heapprof_file_regular_p(const struct heapprof_file *file)
{
    return file->temporary[0] != '\0';
}

int
rb_heapprof_file_step(struct heapprof_file *file)
{
    bool regular = rb_heapprof_file_regular_p(file);
    const char *path = regular ? file->temporary : file->target;
    int create = regular ? O_CREAT | O_TRUNC : 0;

    if (file->fd < 0) file->fd = open(path, create | O_WRONLY | O_CLOEXEC, 0666);
    if (file->fd < 0) return errno;
    while (file->left > 0) {
        ssize_t written = write(file->fd, file->bytes, file->left);
        if (written < 0) return errno;
        file->bytes += written;
        file->left -= (size_t)written;
    }
    return 0;
}

int
rb_heapprof_file_end(struct heapprof_file *file, int error)
{
    bool opened = file->fd >= 0;

    if (opened && close(file->fd) != 0 && error == 0) error = errno;
    if (!opened || !rb_heapprof_file_regular_p(file)) return error;
    if (error == 0 && rename(file->temporary, file->target) != 0) error = errno;
    if (error != 0) unlink(file->temporary);
    return error;
}
