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
    if (!getcwd(boot.directory, sizeof(boot.directory))) boot.directory[0] = '\0';
    boot.asked = rb_heapprof_start_with(&boot.options);
}

/* ---- at exit ---- */

static void
write_profile(const rb_heapprof_snapshot_t *snapshot)
{
    char path[PATH_MAX];

    if (!rb_heapprof_flush_path(boot.options.out, boot.directory, path, sizeof(path))) {
        complain("the profile was not written", "the name in RUBY_HEAPPROF's out= is too long");
    }
    else if (rb_heapprof_snapshot_write(snapshot, path) < 0) {
        char line[PATH_MAX + 256];
        snprintf(line, sizeof(line), "cannot write %s: %s", path, strerror(errno));
        complain("the profile was not written", line);
    }
}

/* The GC that snapshot may run calls finalizers, and those may raise. */
static rb_heapprof_snapshot_t *
take_snapshot(void)
{
    rb_execution_context_t *ec = GET_EC();
    rb_heapprof_snapshot_t *volatile snapshot = NULL;
    VALUE errinfo = ec->errinfo;
    enum ruby_tag_type state;

    EC_PUSH_TAG(ec);
    if ((state = EC_EXEC_TAG()) == TAG_NONE) snapshot = rb_heapprof_snapshot(boot.options.gc);
    EC_POP_TAG();
    if (state != TAG_NONE) snapshot = rb_heapprof_snapshot(0);
    ec->errinfo = errinfo;
    return snapshot;
}

void
rb_heapprof_at_exit(void)
{
    if (!rb_heapprof_running_p()) return;

    if (boot.asked) {
        rb_heapprof_snapshot_t *snapshot = take_snapshot();
        if (snapshot) write_profile(snapshot);
        else complain("the profile was not written", "out of memory");
        rb_heapprof_snapshot_free(snapshot);
    }
    rb_heapprof_stop();
}
