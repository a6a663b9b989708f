/* flush.c - from a snapshot to a file.
 *
 *     snapshot  ->  encode (pprof)  ->  gzip  ->  write .heapprof-XXXXXXXX  ->  rename
 *     GVL, VM lock  |-------------------- no GVL needed --------------------|
 *
 * A reader of PATH sees the old file or the new one, never half of one. If a step fails, the
 * temporary file is removed and PATH is as it was (os/file.c). A write may wait (a pipe without a
 * reader, a file system that is away), so it can be interrupted.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "ruby/version.h"
#include "vm/run/flush.h"
#include "base/aside.h"
#include "os/file.h"
#include "pprof/gzip.h"
#include "profiler/pprof.h"
#include "profiler/series.h"
#include "vm/thread/say.h"
#include <errno.h>
#include <limits.h>

const char *const rb_heapprof_description = ruby_description;

char *
rb_heapprof_flush_encode(const struct heapprof_snapshot *snapshot, size_t *size)
{
    return rb_heapprof_flush_encode_by(snapshot, "inuse_space", size);
}

char *
rb_heapprof_flush_encode_by(const struct heapprof_snapshot *snapshot, const char *by, size_t *size)
{
    size_t plain_size;
    char *plain =
        rb_heapprof_pprof_encode_by(snapshot, by, "ruby", rb_heapprof_description, &plain_size);
    if (!plain) return NULL;

    char *packed = rb_heapprof_gzip(plain, plain_size, size);
    rb_heapprof_aside_free(plain);
    return packed;
}

/* ---- files ---- */

int64_t
rb_heapprof_snapshot_write(const rb_heapprof_snapshot_t *snapshot, const char *path)
{
    size_t size;
    char *bytes = rb_heapprof_flush_encode(snapshot, &size);
    int error = bytes ? rb_heapprof_file_write_whole(path, bytes, size, true) : ENOMEM;

    free(bytes);
    errno = error;
    return error ? -1 : (int64_t)size;
}

/* A write in progress, by a thread that may be interrupted. */
struct writing {
    struct heapprof_file file;
    const char *path;
    char  *bytes;
    size_t size;
    bool   at_exit;
    bool   begun;
    int    error;
};

static void *
step(void *data)
{
    struct writing *writing = data;
    writing->error = rb_heapprof_file_step(&writing->file);
    return NULL;
}

static VALUE
write_serving_interrupts(VALUE data)
{
    struct writing *writing = (struct writing *)data;

    writing->error = rb_heapprof_file_begin(&writing->file, writing->path, writing->bytes,
                                            writing->size, !writing->at_exit);
    writing->begun = writing->error == 0;
    if (!writing->begun) return Qnil;

    bool holds_gvl = writing->at_exit && rb_heapprof_file_regular_p(&writing->file);
    for (;;) {
        writing->error = EINTR; /* stays so if an interrupt raises, or already waits */
        if (holds_gvl) step(writing);
        else rb_nogvl(step, writing, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
        if (writing->error != EINTR) return Qnil;
        rb_thread_check_ints();
    }
}

/* If no descriptor is free, a program may close one and try again; at exit it cannot, so a child
 * writes. */
static VALUE
end_writing(VALUE data)
{
    struct writing *writing = (struct writing *)data;

    if (writing->begun) writing->error = rb_heapprof_file_end(&writing->file, writing->error);
    if (writing->error == EMFILE && writing->at_exit) {
        writing->error =
            rb_heapprof_file_write_in_child(writing->path, writing->bytes, writing->size);
    }
    free(writing->bytes);
    return Qnil;
}

int
rb_heapprof_flush_write(const char *path, char *bytes, size_t size, bool at_exit)
{
    struct writing writing = { .path = path, .bytes = bytes, .size = size, .at_exit = at_exit };

    rb_ensure(write_serving_interrupts, (VALUE)&writing, end_writing, (VALUE)&writing);
    return writing.error;
}

int
rb_heapprof_flush_write_regular(const char *path, const char *bytes, size_t size)
{
    struct heapprof_file file;
    int error = rb_heapprof_file_begin(&file, path, bytes, size, false);

    if (error) return error;
    if (!rb_heapprof_file_regular_p(&file)) return rb_heapprof_file_end(&file, ENOTSUP);
    while ((error = rb_heapprof_file_step(&file)) == EINTR);
    return rb_heapprof_file_end(&file, error);
}

/* ---- what is said of a file ---- */

const char *
rb_heapprof_flush_explain(int error)
{
    switch (error) {
      case ENXIO:
        return "no process reads this pipe";
      case ELOOP:
        return "too many links, or a link in a directory that others may write to";
      case ENOTSUP:
        return "it is not a regular file, which every= and signal= need";
      default:
        return strerror(error);
    }
}

void
rb_heapprof_flush_say_unwritten(const char *path, int error)
{
    char line[PATH_MAX + 256];

    if (error == ENAMETOOLONG && !*path)
        snprintf(line, sizeof(line), "the name that out= makes is too long");
    else if (!*path) snprintf(line, sizeof(line), "%s", rb_heapprof_flush_explain(error));
    else
        snprintf(line, sizeof(line), "cannot write %s: %s", path, rb_heapprof_flush_explain(error));
    rb_heapprof_say("the profile was not written", line);
}

void
rb_heapprof_flush_say_distinct(struct heapprof_series *series, const char *path)
{
    char line[PATH_MAX + 128];

    if (!rb_heapprof_series_tell_distinct(series)) return;
    snprintf(line, sizeof(line), "this forked process writes %s instead", path);
    rb_heapprof_say("out= has no %p", line);
}
