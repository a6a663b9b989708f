/* boot.c - RUBY_HEAPPROF: from the environment to a running profiler, and at the end of
 * the process to a file.
 *
 *     Init_heapprof         core classes are there, no Ruby code has run
 *     prelude, -r, script   sampled
 *     at_exit blocks        sampled
 *     rb_heapprof_at_exit   full GC unless gc=0; snapshot; file; stop
 *     finalizers            not sampled
 *
 * An exception that nobody rescued, exit, and a signal whose default Ruby turns into an
 * exception (SIGINT, SIGTERM, SIGHUP, ...) all come through here; exit!, exec, SIGKILL and a
 * crash do not.
 *
 * Whatever goes wrong is one line on stderr; the program and its exit status never know.
 */
#include "ruby/ruby.h"
#include "boot.h"
#include "ruby/heapprof.h"
#include "api.h"
#include "flush.h"
#include "gc/state.h"
#include "eval_intern.h"
#include "profiler/options.h"
#include "run.h"
#include <limits.h>
#include <unistd.h>

/* What the environment asked for; written once at boot. */
static struct {
    bool asked;
    struct heapprof_options options;
    char directory[PATH_MAX];   /* where the program began: the program may chdir */
} boot;

static void
complain(const char *what, const char *detail)
{
    fprintf(stderr, "ruby: heap profiler: %s: %s\n", what, detail);
}

/* A program that runs with another user's rights writes no file on request of its caller. */
static bool
privileged_p(void)
{
    return getuid() != geteuid() || getgid() != getegid();
}

void
Init_heapprof(void)
{
    char message[512], line[640];
    const char *text = getenv("RUBY_HEAPPROF");

    rb_heapprof_define_class();
    if (privileged_p()) return;
    switch (rb_heapprof_options_parse(text, &boot.options, message, sizeof(message))) {
      case HEAPPROF_OPTIONS_OFF:
        return;
      case HEAPPROF_OPTIONS_BAD:
        snprintf(line, sizeof(line), "%s (running unprofiled)", message);
        complain("RUBY_HEAPPROF", line);
        return;
      case HEAPPROF_OPTIONS_ON:
        break;
    }
    const char *refusal = boot.options.malloc_all ? rb_heapprof_gc_malloc_all_refusal() : NULL;
    if (refusal) {
        snprintf(line, sizeof(line), "malloc=all %s; expected malloc=ruby (running unprofiled)", refusal);
        complain("RUBY_HEAPPROF", line);
        return;
    }
    if (!getcwd(boot.directory, sizeof(boot.directory))) boot.directory[0] = '\0';
    boot.asked = rb_heapprof_start_with(&boot.options);
}

/* ---- at exit ---- */

/* Calls function, which may raise: finalizers run, and interrupts are served. False: it did. */
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

/* All that runs no Ruby code. */
static unsigned int
with_what(void)
{
    return (boot.options.owners ? RB_HEAPPROF_OWNERS : 0) | (boot.options.rss ? RB_HEAPPROF_RSS : 0);
}

static void
take_snapshot(void *snapshot)
{
    unsigned int gc = boot.options.gc ? RB_HEAPPROF_GC : 0;
    *(rb_heapprof_snapshot_t **)snapshot = rb_heapprof_snapshot(with_what() | gc);
}

/* A profile on its way to its file. */
struct final {
    char   path[PATH_MAX];
    char  *bytes;
    size_t size;
    int    error;
};

/* Other threads still run, and would see the main thread asleep if it gave up the GVL here. */
static void
write_file(void *data)
{
    struct final *final = data;
    final->error = EINTR; /* as it stays when the process is to end at once */
    final->error = rb_heapprof_flush_write(final->path, final->bytes, final->size, true);
}

static void
write_profile(const rb_heapprof_snapshot_t *snapshot)
{
    struct final final;

    if (!rb_heapprof_flush_path(boot.options.out, boot.directory, final.path, sizeof(final.path))) {
        complain("the profile was not written", "the name in RUBY_HEAPPROF's out= is too long");
        return;
    }
    final.error = ENOMEM;
    final.bytes = rb_heapprof_flush_encode(snapshot, &final.size);
    if (final.bytes) completed_p(write_file, &final);
    if (final.error) {
        char line[PATH_MAX + 256];
        snprintf(line, sizeof(line), "cannot write %s: %s", final.path, strerror(final.error));
        complain("the profile was not written", line);
    }
}

void
rb_heapprof_at_exit(void)
{
    if (!rb_heapprof_running_p()) return;

    if (boot.asked) {
        rb_heapprof_snapshot_t *snapshot = NULL;
        if (!completed_p(take_snapshot, &snapshot)) snapshot = rb_heapprof_snapshot(with_what());
        if (snapshot) write_profile(snapshot);
        else if (rb_heapprof_running_p()) complain("the profile was not written", "out of memory");
        rb_heapprof_snapshot_free(snapshot);
    }
    rb_heapprof_stop();
}
