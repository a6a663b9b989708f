/* file.c - writes a whole file or no file, in steps that a signal may interrupt.
 *
 * This file walks a path component by component, and the kernel does not. Only so can a link be
 * refused because of where it lies. The walk ends with an open directory and a name in it. From
 * then on the temporary file and the rename stay in that directory, whatever happens to the path.
 *
 *   I1  No call gives the kernel a name with a '/' in it, except "/" itself.
 *   I2  Every call that opens a name says O_NOFOLLOW, except for a link of /proc (magic_p).
 *   I3  A file that is opened as it is has been looked at again after it was opened.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_PATH */
#endif
#include "os/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINKS_MAX 40
#define TEMPORARY_TRIES 100
#define PROC_MAGIC 0x9fa0 /* statfs(2) */

/* ---- the walk ---- */

struct path_walk {
    int  directory;      /* where the walk is */
    char left[PATH_MAX]; /* the path that is left to walk from there */
    int  links;          /* links followed so far */
};

static bool
ours_p(const struct stat *there)
{
    return there->st_uid == 0 || there->st_uid == geteuid();
}

/* Returns whether no other user may put anything into the directory. */
static bool
safe_p(int directory)
{
    struct stat there;
    return fstat(directory, &there) == 0 && ours_p(&there) &&
           !(there.st_mode & (S_IWGRP | S_IWOTH));
}

static int
enter(struct path_walk *walk, const char *name)
{
    int directory = openat(walk->directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (directory < 0) return errno;
    if (walk->directory >= 0) close(walk->directory);
    walk->directory = directory;
    return 0;
}

/* Puts a path, or what a link holds, before the rest. */
static int
prepend(struct path_walk *walk, const char *path, const char *rest)
{
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof(whole), "%s%s%s", path, *rest ? "/" : "", rest);

    if (length < 0 || (size_t)length >= sizeof(whole)) return ENAMETOOLONG;
    memcpy(walk->left, whole, (size_t)length + 1);
    return whole[0] == '/' ? enter(walk, "/") : 0;
}

/* Returns whether name is a link of /proc whose text is not a path. A link to a pipe or to a
 * socket is one. */
static bool
magic_p(int directory, const char *name)
{
    struct statfs system;
    struct stat there;

    return fstatfs(directory, &system) == 0 && system.f_type == PROC_MAGIC &&
           fstatat(directory, name, &there, 0) == 0 &&
           !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

/* Takes the first component of the path that is left. *rest becomes the beginning of the next
 * component, or "" if there is no next one. */
static int
split(const struct path_walk *walk, char *name, const char **rest)
{
    const char *start = walk->left + strspn(walk->left, "/");
    size_t length = strcspn(start, "/");

    if (length == 0) return walk->left[0] ? EISDIR : ENOENT;
    if (length > NAME_MAX) return ENAMETOOLONG;
    memcpy(name, start, length);
    name[length] = '\0';
    *rest = start + length + strspn(start + length, "/");
    return **rest || !start[length] ? 0 : EISDIR; /* "name/" names a directory */
}

static int
follow(struct path_walk *walk, const char *text, const char *rest)
{
    if (!safe_p(walk->directory) || ++walk->links > LINKS_MAX) return ELOOP;
    return prepend(walk, text, rest);
}

/* Walks from walk->left to the directory of the last component, and finds the component's name. */
static int
go(struct path_walk *walk, struct heapprof_file *file)
{
    for (;;) {
        char text[PATH_MAX];
        const char *rest;
        int error = split(walk, file->name, &rest);
        if (error) return error;

        ssize_t length = readlinkat(walk->directory, file->name, text, sizeof(text) - 1);
        if (length >= 0) {
            text[length] = '\0';
            file->follow =
                !*rest && safe_p(walk->directory) && magic_p(walk->directory, file->name);
            if (file->follow) return 0;
            error = follow(walk, text, rest);
        }
        else {
            if (!*rest) return 0;
            error = enter(walk, file->name);
            if (!error) memmove(walk->left, rest, strlen(rest) + 1);
        }
        if (error) return error;
    }
}

static int
find(struct heapprof_file *file, const char *path)
{
    struct path_walk walk = { .directory = AT_FDCWD };
    struct stat there;
    int error;

    if (*path == '\0') return ENOENT;
    error = *path == '/' ? 0 : enter(&walk, ".");
    if (!error) error = prepend(&walk, path, "");
    if (!error) error = go(&walk, file);
    if (!error) {
        int flags = file->follow ? 0 : AT_SYMLINK_NOFOLLOW;
        bool absent = fstatat(walk.directory, file->name, &there, flags) != 0;
        if (absent && errno != ENOENT) error = errno;
        else if (!absent && S_ISDIR(there.st_mode)) error = EISDIR;
        file->regular = absent || S_ISREG(there.st_mode);
    }
    if (error && walk.directory >= 0) close(walk.directory);
    file->directory = walk.directory;
    return error;
}

int
rb_heapprof_file_begin(struct heapprof_file *file, const char *path,
                       const char *bytes, size_t size, bool wait)
{
    *file = (struct heapprof_file){ .bytes = bytes, .left = size, .wait = wait, .fd = -1 };
    return find(file, path);
}

bool
rb_heapprof_file_regular_p(const struct heapprof_file *file)
{
    return file->regular;
}

int
rb_heapprof_file_check(const char *path)
{
    struct heapprof_file file = { .fd = -1 };
    int error = find(&file, path);

    if (error) return error;
    if (file.regular && faccessat(file.directory, ".", W_OK | X_OK, AT_EACCESS) != 0) error = errno;
    close(file.directory);
    return error;
}

int
rb_heapprof_file_remove(const char *path)
{
    struct heapprof_file file = { .fd = -1 };
    int error = find(&file, path);

    if (error) return error;
    if (unlinkat(file.directory, file.name, 0) != 0) error = errno;
    close(file.directory);
    return error;
}

/* ---- opening ---- */

static uint64_t
random_bits(void)
{
    uint64_t bits;
    struct timespec now;

    if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) == (ssize_t)sizeof(bits)) return bits;
    /* a name that is taken does no harm: the caller tries again */
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid();
}

static void
name_temporary(struct heapprof_file *file)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyz012345";
    char *end = file->temporary + sprintf(file->temporary, ".heapprof-");
    uint64_t bits = random_bits();

    for (int i = 0; i < 8; i++, bits >>= 5) *end++ = characters[bits & 31];
    *end = '\0';
}

static int
open_temporary(struct heapprof_file *file)
{
    int error = EEXIST;

    for (int i = 0; i < TEMPORARY_TRIES && error == EEXIST; i++) {
        name_temporary(file);
        file->fd = openat(file->directory, file->temporary,
                          O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
        error = file->fd < 0 ? errno : 0;
    }
    if (error) file->temporary[0] = '\0';
    return error;
}

/* The file may be another one than when the walk found it. */
static int
look_again(const struct heapprof_file *file)
{
    struct stat there;

    if (fstat(file->fd, &there) != 0) return errno;
    if (S_ISREG(there.st_mode)) return EACCES;
    return ours_p(&there) || safe_p(file->directory) ? 0 : EACCES;
}

static int
open_as_it_is(struct heapprof_file *file)
{
    int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (file->follow ? 0 : O_NOFOLLOW);

    file->fd = openat(file->directory, file->name, flags | (file->wait ? 0 : O_NONBLOCK));
    if (file->fd < 0) return errno;
    if (!file->wait && fcntl(file->fd, F_SETFL, 0) != 0) return errno; /* writes may wait */
    return look_again(file);
}

/* ---- writing ---- */

static size_t
write_all(int fd, const char *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t written = write(fd, bytes + done, size - done);
        if (written < 0) break;
        done += (size_t)written;
    }
    return done;
}

/* If a file would exceed its size limit, the kernel says so by errno and by a signal to this
 * thread. The signal would end the process. This function takes that signal, except if one was
 * waiting before. */
size_t
rb_heapprof_file_write(int fd, const char *bytes, size_t size)
{
    const struct timespec at_once = {0};
    sigset_t too_large, before, waiting;
    size_t done;
    int error;

    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    done = write_all(fd, bytes, size);
    error = errno;
    if (done < size && error == EFBIG && !sigismember(&waiting, SIGXFSZ)) {
        while (sigtimedwait(&too_large, NULL, &at_once) < 0 && errno == EINTR);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return done;
}

int
rb_heapprof_file_step(struct heapprof_file *file)
{
    if (file->fd < 0) {
        int error = file->regular ? open_temporary(file) : open_as_it_is(file);
        if (error) return error;
    }
    size_t done = rb_heapprof_file_write(file->fd, file->bytes, file->left);
    file->bytes += done;
    file->left -= done;
    return file->left ? errno : 0;
}

int
rb_heapprof_file_end(struct heapprof_file *file, int error)
{
    if (file->fd >= 0 && close(file->fd) != 0 && error == 0) error = errno;
    if (file->temporary[0]) {
        if (error == 0 &&
            renameat(file->directory, file->temporary, file->directory, file->name) != 0) {
            error = errno;
        }
        if (error != 0) unlinkat(file->directory, file->temporary, 0);
    }
    close(file->directory);
    return error;
}

int
rb_heapprof_file_write_whole(const char *path, const char *bytes, size_t size, bool wait)
{
    struct heapprof_file file;
    int error = rb_heapprof_file_begin(&file, path, bytes, size, wait);

    if (error) return error;
    while ((error = rb_heapprof_file_step(&file)) == EINTR);
    return rb_heapprof_file_end(&file, error);
}

/* ---- without descriptors ---- */

#define DESCRIPTORS 2 /* a directory and the next one, or a directory and the file */

/* At the limit all descriptors below it are in use. */
static void
close_some(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    for (rlim_t i = 1; i <= DESCRIPTORS && i <= limit.rlim_cur; i++)
        close((int)(limit.rlim_cur - i));
}

/* Makes a copy of this thread alone. fork() would run handlers of other code, and its child
 * would end with a signal. */
static pid_t
clone_thread(void)
{
    return (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

int
rb_heapprof_file_write_in_child(const char *path, const char *bytes, size_t size)
{
    int status;
    pid_t child = clone_thread();

    if (child < 0) return errno;
    if (child == 0) {
        close_some();
        _exit(rb_heapprof_file_write_whole(path, bytes, size, false));
    }
    while (waitpid(child, &status, __WCLONE) < 0) {
        if (errno != EINTR) return errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}
