/* boot.c - the first and the last word: from RUBY_HEAPPROF to a running profiler, and at the end
 * of the process to a file.
 *
 *     Init_heapprof         core classes are there, no Ruby code has run
 *     prelude, -r, script   sampled
 *     at_exit blocks        sampled
 *     rb_heapprof_at_exit   full GC unless gc=0; snapshot; file; stop
 *     finalizers            not sampled
 *     rb_heapprof_at_end    with memcheck=1 the file is written here, and not before (memcheck.c)
 *
 * All of these ends come through here: an exception that no code rescues, exit, and a signal that
 * Ruby turns into an exception by default (SIGINT, SIGTERM, SIGHUP, ...). exit!, exec and SIGKILL
 * do not. A crash does in its own way (vm/run/last.c). A command line without a program to run (-v,
 * -c, an unknown option) leaves no file.
 *
 * A failure is one line on stderr. It changes neither the program nor its exit status.
 */
#include "ruby/ruby.h"
#include "vm/boot.h"
#include "ruby/heapprof.h"
#include "vm/api/api.h"
#include "vm/api/wbcheck_api.h"
#include "os/file.h"
#include "vm/run/flush.h"
#include "vm/graph/graph.h"
#include "vm/graph/graph_signal.h"
#include "vm/graph/graph_write.h"
#include "vm/outside/request.h"
#include "vm/thread/own_thread.h"
#include "base/check.h"
#include "vm/run/last.h"
#include "vm/run/marks.h"
#include "vm/run/periodic.h"
#include "gc/book/state.h"
#include "eval_intern.h"
#include "internal/vm.h"
#include "vm/memcheck/crash.h"
#include "vm/memcheck/memcheck.h"
#include "vm/run/environment.h"
#include "vm/thread/say.h"
#include "profiler/options.h"
#include "vm/run/run.h"
#include "vm/memcheck/valgrind.h"
#include "vm/wbcheck/wbcheck.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* What the environment has asked for. Written once, at boot. */
static struct {
    bool asked;
    bool no_program;            /* the command line named no program to run */
    struct heapprof_options options;
    struct heapprof_series series; /* names the files */
    char leaks[PATH_MAX]; /* with memcheck, from at_exit on: the file to write at the end; "": no
                             file */
} boot;

static void
complain_unprofiled(const char *reason)
{
    char line[PATH_MAX + 512];

    snprintf(line, sizeof(line), "%s (running unprofiled)", reason);
    rb_heapprof_say("RUBY_HEAPPROF", line);
}

/* ---- whether the file can be written, before hours have passed ---- */

static bool
directory_known_p(void)
{
    if (boot.options.out[0] == '/') return true;
    if (rb_heapprof_environment_directory()[0] == '/') return true;
    complain_unprofiled("the working directory is gone, and out= is relative to it");
    return false;
}

/* Whether the name is known at boot. %e, the program's name, is not; that matters if a directory
 * contains it. */
static bool
checkable_p(const char *out)
{
    const char *program = strstr(out, "%e");
    return !program || !strchr(program, '/');
}

static void
tell_signal_in_use(void)
{
    char line[128];

    snprintf(line, sizeof(line),
             "a library handles SIG%s, so no profile is written while the program runs",
             rb_heapprof_signal_name((int)boot.options.signal));
    rb_heapprof_say("RUBY_HEAPPROF", line);
}

static bool
writable_p(void)
{
    char path[PATH_MAX], reason[PATH_MAX + 128];
    int error;

    if (!checkable_p(boot.options.out)) return true;
    error = rb_heapprof_series_first(&boot.series, "ruby", path, sizeof(path)) ?
        rb_heapprof_file_check(path) : ENAMETOOLONG;
    if (error == 0) return true;
    if (error == ENAMETOOLONG) snprintf(path, sizeof(path), "%.60s...", boot.options.out);
    snprintf(reason, sizeof(reason), "cannot write %s: %s", path, rb_heapprof_flush_explain(error));
    complain_unprofiled(reason);
    return false;
}

static bool
name_file(char *path, size_t size)
{
    if (rb_heapprof_series_next(&boot.series, rb_heapprof_environment_program(), path, size))
        return true;
    rb_heapprof_say("the profile was not written", "the name in RUBY_HEAPPROF's out= is too long");
    return false;
}

/* The last profile of a process that crashes. A copy of it asks. */
static bool
name_last(pid_t pid, char *path, size_t size)
{
    boot.series.pid = pid;
    return name_file(path, size);
}

/* With memcheck, the file of a process that crashes. */
static const char *
name_at_crash(void)
{
    return name_file(boot.leaks, sizeof(boot.leaks)) ? boot.leaks : NULL;
}

/* What a snapshot has that runs no Ruby code. */
static unsigned int
with_what(void)
{
    return (boot.options.owners ? RB_HEAPPROF_OWNERS : 0) |
           (boot.options.rss ? RB_HEAPPROF_RSS : 0);
}

static void
begin_marks(void)
{
    const char *remark = rb_heapprof_marks_remark(&boot.options);
    int error = rb_heapprof_marks_start(&boot.options, rb_heapprof_environment_directory(),
                                        rb_heapprof_graph_dump_beside);

    if (remark) rb_heapprof_say("RUBY_HEAPPROF", remark);
    if (error) rb_heapprof_say("RUBY_HEAPPROF: nothing is written at marks", strerror(error));
}

static void
begin(void)
{
    bool periodic = rb_heapprof_options_periodic_p(&boot.options);

    rb_heapprof_series_init(&boot.series, boot.options.out, rb_heapprof_environment_directory(),
                            periodic, boot.options.keep);
    if (!boot.options.out[0] && (periodic || boot.options.at[0])) {
        complain_unprofiled("out= has no file name, which every, signal and at need");
        return;
    }
    if (boot.options.out[0] && (!directory_known_p() || !writable_p())) return;
    boot.asked = rb_heapprof_start_with(&boot.options);
    if (boot.asked && boot.options.memcheck) {
        rb_heapprof_memcheck_begin();
        rb_heapprof_valgrind_start();
        if (boot.options.quarantine_bytes > 0) rb_heapprof_crash_start(name_at_crash);
    }
    else if (boot.asked && boot.options.out[0]) rb_heapprof_last_start(name_last, with_what());
    if (!rb_heapprof_periodic_start(&boot.options, &boot.series, NULL)) tell_signal_in_use();
    if (boot.asked) begin_marks();
}

static void
begin_as_asked(void)
{
    char message[512];

    switch (rb_heapprof_options_parse(rb_heapprof_environment_setting("RUBY_HEAPPROF"),
                                      &boot.options, message, sizeof(message))) {
      case HEAPPROF_OPTIONS_OFF: return;
      case HEAPPROF_OPTIONS_BAD: complain_unprofiled(message); return;
      case HEAPPROF_OPTIONS_ON: break;
    }
    if (boot.options.memcheck) rb_heapprof_memcheck_settings(&boot.options);
    const char *refusal = boot.options.malloc_all ? rb_heapprof_gc_malloc_all_refusal() : NULL;
    if (refusal) {
        snprintf(message, sizeof(message), "malloc=all %s; expected malloc=ruby", refusal);
        complain_unprofiled(message);
        return;
    }
    refusal = rb_heapprof_periodic_refusal(&boot.options, message, sizeof(message));
    if (refusal) {
        complain_unprofiled(refusal);
        return;
    }
    begin();
}

void
Init_heapprof(void)
{
    rb_heapprof_environment_begin();
    rb_heapprof_define_class();
    rb_heapprof_wbcheck_define();
    rb_heapprof_wbcheck_boot();
    begin_as_asked();
    rb_heapprof_graph_signal_start(rb_heapprof_environment_setting("RUBY_HEAPGRAPH"),
                                   rb_heapprof_environment_directory());
    rb_heapprof_request_boot(
        rb_heapprof_options_locked_p(rb_heapprof_environment_setting("RUBY_HEAPPROF")));
}

void
rb_heapprof_no_program(void)
{
    boot.no_program = true;
}

/* ---- at exit ---- */

/* Calls `function`. Returns false if it raised, for finalizers run in it, and interrupts are
 * served. */
static bool
completed_p(void (*function)(void *), void *data)
{
    rb_execution_context_t *ec = GET_EC();
    VALUE errinfo = ec->errinfo;
    enum ruby_tag_type state;

    EC_PUSH_TAG(ec);
    if ((state = EC_EXEC_TAG()) == TAG_NONE) function(data);
    EC_POP_TAG();
    ec->errinfo = errinfo;
    return state == TAG_NONE;
}

static void
take_snapshot(void *snapshot)
{
    unsigned int gc = boot.options.gc ? RB_HEAPPROF_GC : 0;
    *(rb_heapprof_snapshot_t **)snapshot = rb_heapprof_snapshot(with_what() | gc);
}

/* The last profile, while it is written. */
struct final {
    char   path[PATH_MAX];
    char  *bytes;
    size_t size;
    int    error;
};

/* Keeps the GVL: other threads still run, and would see the main thread asleep. */
static void
write_file(void *data)
{
    struct final *final = data;
    final->error = EINTR; /* stays so if the process has to end at once */
    final->error = rb_heapprof_flush_write(final->path, final->bytes, final->size, true);
}

/* A profile that lacks samples, or is coarser than was asked for, is written all the same. The
 * user should know before reading it. (Samples are lost, too, if there is no room for them to
 * wait for the VM lock. These are few, and the profile's comments tell of them.) */
static void
tell_dropped(const struct rb_heapprof_stat *stat)
{
    char line[256];

    snprintf(line, sizeof(line),
             "%" PRIu64 " of %" PRIu64 ", because memory=%" PRIu64 " was full; give more, or take "
             "fewer samples by a larger interval= (now %" PRIu64 ")",
             rb_heapprof.account.dropped, stat->total_samples, stat->memory_budget,
             stat->interval_bytes);
    rb_heapprof_say("samples are missing from the profile", line);
}

static void
tell_doubled(const struct rb_heapprof_stat *stat)
{
    char line[256];

    snprintf(line, sizeof(line),
             "one every %" PRIu64 " bytes allocated, because memory=%" PRIu64
             " was full; give more to keep more samples",
             stat->interval_bytes, stat->memory_budget);
    rb_heapprof_say("the profile has fewer samples than were asked for", line);
}

static void
tell_memory(void)
{
    struct rb_heapprof_stat stat;

    if (rb_heapprof.account.dropped == 0 && rb_heapprof.account.doublings == 0) return;
    rb_heapprof_stat(&stat);
    if (rb_heapprof.account.dropped > 0) tell_dropped(&stat);
    else tell_doubled(&stat);
}

/* Without a snapshot there was no memory for it. */
static void
write_profile(const rb_heapprof_snapshot_t *snapshot)
{
    struct final final;

    if (!name_file(final.path, sizeof(final.path))) return;
    final.error = ENOMEM;
    final.bytes = snapshot ? rb_heapprof_flush_encode(snapshot, &final.size) : NULL;
    if (final.bytes) completed_p(write_file, &final);
    if (final.error == ENOMEM && rb_heapprof_last_write(final.path)) final.error = 0;
    if (final.error) {
        rb_heapprof_flush_say_unwritten(final.path, final.error);
        return;
    }
    rb_heapprof_flush_say_distinct(&boot.series, final.path);
    rb_heapprof_series_written(&boot.series, final.path);
    tell_memory();
}

void
rb_heapprof_boot_after_fork(void)
{
    rb_heapprof_series_fork(&boot.series);
}

/* The rest is done in rb_heapprof_at_end, when the VM is gone. */
static bool
prepare_memcheck(void)
{
    if (!boot.options.memcheck || !name_file(boot.leaks, sizeof(boot.leaks))) return false;
    rb_heapprof_periodic_stop();
    tell_memory();
    rb_heapprof_memcheck_prepare();
    return true;
}

void
rb_heapprof_at_end(void)
{
    if (!boot.leaks[0]) return;
    int error = rb_heapprof_memcheck_write(boot.leaks, (uintptr_t)__builtin_frame_address(0));
    if (error) rb_heapprof_flush_say_unwritten(boot.leaks, error);
    rb_heapprof_series_free(&boot.series);
}

void
rb_heapprof_at_exit(void)
{
    rb_heapprof_marks_stop();
    rb_heapprof_own_thread_end();
    rb_heapprof_wbcheck_at_exit();
    if (HEAPPROF_CHECK) rb_heapprof_graph_check();
    if (!rb_heapprof_running_p()) return;

    bool ours = boot.asked && !rb_heapprof_request_run_p();
    if (ours && !boot.no_program && boot.options.out[0]) {
        if (prepare_memcheck()) return;
        rb_heapprof_snapshot_t *snapshot = NULL;
        if (!completed_p(take_snapshot, &snapshot)) snapshot = rb_heapprof_snapshot(with_what());
        if (snapshot || rb_heapprof_running_p()) write_profile(snapshot);
        rb_heapprof_snapshot_free(snapshot);
    }
    rb_heapprof_stop();
    rb_heapprof_series_free(&boot.series);
}
