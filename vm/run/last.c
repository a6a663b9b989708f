/* last.c - the last words of a process that crashes: the profile that it would have written at its
 * end.
 *
 *     crash ── rb_bug ── report ── report_i ── a stack of its own ── copy (frozen.c) ── abort
 *              (alternate signal stack, 16 KB)                        '─▶ snapshot ─ write ─ _exit
 *
 * The process itself does no more than system calls: it asks malloc for nothing, and waits for no
 * lock. What may go wrong goes wrong in the copy, which has a time.
 *
 * At the end of a process that has no memory left for its profile a copy writes it, too: that has
 * memory that was set aside.
 *
 *   I1  Nothing is written if the crash came during a GC, or while the tables changed: then they say
 *       nothing that could be trusted.
 *   I2  The report and the end of the process are as they would be, but for one line. */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "vm/run/last.h"
#include "base/aside.h"
#include "base/version.h"
#include "gc/book/state.h"
#include "internal/error.h"
#include "os/clock.h"
#include "vm/run/child.h"
#include "vm/run/flush.h"
#include "vm/run/frozen.h"
#include "vm/run/origin.h"
#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS INT64_C(20000000000) /* for the copy */
#define LIMIT_LEAST (UINT64_C(512) << 20) /* of address space, an eighth of which is set aside */

/* What the copy leaves, in memory that it shares with its parent. */
struct last_written {
    char path[PATH_MAX];
    int  error;                  /* of writing it; 0: it has not come so far, or is written */
};

static struct {
    bool (*name)(pid_t pid, char *path, size_t size);
    unsigned int with;
    const char *why;             /* a copy writes: a comment */
    bool begun;
    pid_t pid;                   /* of the process that crashes */
    int  error;                  /* 0: it is written */
    int64_t until_ns;
    struct last_written *written;
} last;

/* ---- in the copy ---- */

static int
write_file(struct heapprof_snapshot *snapshot, const char *path)
{
    size_t size;

    if (!rb_heapprof_origin_add(snapshot, last.why)) return ENOMEM;
    char *bytes = rb_heapprof_flush_encode(snapshot, &size);
    return bytes ? rb_heapprof_flush_write_regular(path, bytes, size) : ENOMEM;
}

static int
write_in_copy(struct heapprof_snapshot *snapshot)
{
    struct last_written *written = last.written;

    bool named = written->path[0] ||
                 last.name(last.pid, written->path, sizeof(written->path));
    written->error = named ? write_file(snapshot, written->path) : ENAMETOOLONG;
    return written->error;
}

/* ---- in the process that crashes ---- */

static bool
in_time_p(void)
{
    return rb_heapprof_clock_ns(CLOCK_MONOTONIC) < last.until_ns;
}

static void
copy_and_wait(void)
{
    const struct heapprof_frozen_asks asks = { .with = last.with, .write = write_in_copy,
                                               .wanted_p = in_time_p, .crashed = true };

    last.until_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
    last.error = rb_heapprof_frozen_prepare() ? rb_heapprof_frozen_write(&asks) : ENOMEM;
}

/* Returns false if there is no memory. */
static bool
prepare(const char *why)
{
    last.error = ENOMEM;
    last.written = rb_heapprof_child_share(sizeof(*last.written));
    if (!last.written) return false;
    last.pid = getpid();
    last.why = why;
    return true;
}

static const char *
reason(void)
{
    switch (last.error) {
      case EBUSY: return "it crashed while the profiler's tables changed";
      case ENOTSUP: return "several Ractors ran";
      case ECHILD: return in_time_p() ? "a copy of the process was to write it, and crashed, too"
                                      : "a copy of the process was to write it, and took too long";
      default: return rb_heapprof_flush_explain(last.error);
    }
}

static void
report_i(FILE *out, void *unused)
{
    if (last.begun || !rb_heapprof_on) return;
    last.begun = true;
    if (rb_during_gc()) {
        fputs("* Heap profile: not written: it crashed during a GC\n\n", out);
        return;
    }
    if (prepare(HEAPPROF_COMMENT_COPY HEAPPROF_CRASHED "\n"))
        rb_heapprof_on_own_stack(copy_and_wait);
    if (last.error == 0) fprintf(out, "* Heap profile: %s\n\n", last.written->path);
    else if (last.error == ECHILD && last.written->error)
        fprintf(out, "* Heap profile: not written: cannot write %s: %s\n\n", last.written->path,
                rb_heapprof_flush_explain(last.written->error));
    else fprintf(out, "* Heap profile: not written: %s\n\n", reason());
}

/* ---- start, and the end ---- */

/* If address space is limited, a copy finds none when it is used up. So some is set aside now. */
static void
set_aside(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur >= LIMIT_LEAST)
        rb_heapprof_frozen_prepare();
}

void
rb_heapprof_last_start(bool (*name)(pid_t pid, char *path, size_t size), unsigned int with)
{
    last.name = name;
    last.with = with;
    set_aside();
    rb_bug_reporter_add(report_i, NULL);
}

bool
rb_heapprof_last_write(const char *path)
{
    if (!last.name || !prepare(HEAPPROF_COMMENT_COPY HEAPPROF_USED_UP "\n")) return false;
    snprintf(last.written->path, sizeof(last.written->path), "%s", path);
    copy_and_wait();
    munmap(last.written, sizeof(*last.written));
    return last.error == 0;
}
