/* flush.c - from a snapshot to a file.
 *
 *     snapshot  ->  encode (pprof)  ->  gzip  ->  write PATH.PID-N.tmp  ->  rename
 *     GVL, VM lock  |------------------ no GVL needed ------------------|
 *
 * A reader of PATH sees the file before or the file after, never half of one; when
 * anything fails, the temporary file is removed and PATH is as it was.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "flush.h"
#include "profiler/gzip.h"
#include "profiler/options.h"
#include "profiler/pprof.h"
#include "ruby/ruby.h"
#include "ruby/version.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *
rb_heapprof_flush_encode(const struct heapprof_snapshot *snapshot, size_t *size)
{
    size_t plain_size;
    char *plain = rb_heapprof_pprof_encode(snapshot, "ruby", ruby_description, &plain_size);
    if (!plain) return NULL;

    char *packed = rb_heapprof_gzip(plain, plain_size, size);
    free(plain);
    return packed;
}

/* ---- files ---- */

static int
write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

static int
write_to(const char *path, int flags, const char *bytes, size_t size)
{
    int fd = open(path, flags | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0) return errno;

    int error = write_all(fd, bytes, size);
    if (close(fd) != 0 && error == 0) error = errno;
    return error;
}

int
rb_heapprof_flush_write(const char *path, const char *bytes, size_t size)
{
    static unsigned writes; /* threads that write the same path each have a file of their own */
    struct stat there;
    char target[PATH_MAX], temporary[PATH_MAX];

    if (realpath(path, target)) path = target; /* a link stays, what it leads to is replaced */
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) return write_to(path, 0, bytes, size);

    int length = snprintf(temporary, sizeof(temporary), "%s.%ld-%u.tmp", path, (long)getpid(),
                          __atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED));
    if (length < 0 || (size_t)length >= sizeof(temporary)) return ENAMETOOLONG;

    int error = write_to(temporary, O_CREAT | O_TRUNC, bytes, size);
    if (error == 0 && rename(temporary, path) != 0) error = errno;
    if (error != 0) unlink(temporary);
    return error;
}

int64_t
rb_heapprof_snapshot_write(const rb_heapprof_snapshot_t *snapshot, const char *path)
{
    size_t size;
    char *bytes = rb_heapprof_flush_encode(snapshot, &size);
    int error = bytes ? rb_heapprof_flush_write(path, bytes, size) : ENOMEM;

    free(bytes);
    errno = error;
    return error ? -1 : (int64_t)size;
}

/* ---- names ---- */

bool
rb_heapprof_flush_path(const char *out, const char *directory, char *path, size_t size)
{
    static unsigned number;
    VALUE program = rb_gv_get("$0");
    struct heapprof_out_values values = {
        .pid = getpid(),
        .program = RB_TYPE_P(program, T_STRING) ? RSTRING_PTR(program) : "ruby",
        .time = time(NULL),
        .number = number,
    };
    char expanded[PATH_MAX];

    if (!rb_heapprof_options_expand_out(out, &values, expanded, sizeof(expanded))) return false;
    number++;
    int length = snprintf(path, size, "%s%s%s", expanded[0] == '/' ? "" : directory,
                          expanded[0] == '/' ? "" : "/", expanded);
    return length >= 0 && (size_t)length < size;
}
