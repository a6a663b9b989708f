/* graph_signal.c - the object graph is asked for by a signal, or by a request from outside:
 * RUBY_HEAPGRAPH=signal=USR1,out=heap-%p-%n.rbgraph
 *
 *     signal --> our thread (own_thread.c), with the GVL borrowed --> clone --> go on at once
 *
 * No thread waits for the child. When the next dump is asked for, the child of the last one is
 * looked at: only one dump is written at a time.
 */
#include "ruby/ruby.h"
#include "base/settings.h"
#include "vm/thread/say.h"
#include "vm/run/environment.h"
#include "vm/graph/graph.h"
#include "vm/graph/graph_signal.h"
#include "vm/graph/graph_child.h"
#include "vm/graph/graph_write.h"
#include "os/bell.h"
#include "os/signals.h"
#include "vm/thread/own_thread.h"
#include "profiler/out.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUT_DEFAULT "heap-%p-%n.rbgraph"
#define LEAVING 16

struct heapprof_graph_asked rb_heapprof_graph_asked;

static struct {
    double   max_pause_seconds;       /* 0: any */
    char     out[PATH_MAX];
    const char *directory;
    unsigned number;                  /* of the last file */
    pid_t    pid;                     /* the process whose child it is */
    uint32_t leaving[LEAVING]; /* earlier children that have written, but not ended; 0: free */
} config;

/* ---- settings ---- */

static const char *
read_max_pause(struct heapprof_span value)
{
    char text[64], *end;

    snprintf(text, sizeof(text), "%.*s", (int)value.length, value.start);
    config.max_pause_seconds = strtod(text, &end);
    if (*text && !*end && isfinite(config.max_pause_seconds) && config.max_pause_seconds > 0)
        return NULL;
    return "seconds, such as 0.5";
}

static const char *
read_out(struct heapprof_span value)
{
    if (value.length == 0 || value.length >= sizeof(config.out) ||
        !rb_heapprof_out_template_p(value.start, value.length)) {
        return "a file name, such as " OUT_DEFAULT " (%p pid, %e program, %t time, %n number, %%)";
    }
    snprintf(config.out, sizeof(config.out), "%.*s", (int)value.length, value.start);
    return NULL;
}

/* Returns NULL if the setting is valid, else what is accepted. */
static const char *
read_setting(const struct heapprof_setting *setting)
{
    struct heapprof_span value = setting->value;

    if (value.start && rb_heapprof_span_is_p(setting->key, "signal")) {
        rb_heapprof_graph_asked.signal = rb_heapprof_signal_number(value.start, value.length);
        return rb_heapprof_graph_asked.signal ? NULL : HEAPPROF_SIGNALS;
    }
    if (value.start && rb_heapprof_span_is_p(setting->key, "out")) return read_out(value);
    if (value.start && rb_heapprof_span_is_p(setting->key, "max_pause"))
        return read_max_pause(value);
    return "signal, out or max_pause as the key";
}

static bool
complain_setting(const struct heapprof_setting *setting, const char *accepted)
{
    char line[256];

    rb_heapprof_setting_complain(line, sizeof(line), setting, "expected ", accepted);
    rb_heapprof_say("RUBY_HEAPGRAPH", line);
    return false;
}

static bool
read_settings(const char *settings)
{
    struct heapprof_setting setting;

    for (const char *next = settings; next; ) {
        next = rb_heapprof_setting_read(next, &setting);
        const char *accepted = read_setting(&setting);
        if (accepted) return complain_setting(&setting, accepted);
    }
    return rb_heapprof_graph_asked.signal != 0 ||
           complain_setting(&setting, "signal= with a name, too");
}

/* ---- a dump ---- */

PRINTF_ARGS(static bool answer(bool begun, const char *format, ...), 2, 3);

/* Publishes the answer: the file's path if a child writes it, else why not. Returns begun. */
static bool
answer(bool begun, const char *format, ...)
{
    struct heapprof_graph_asked *asked = &rb_heapprof_graph_asked;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(asked->answer, sizeof(asked->answer), format, arguments);
    va_end(arguments);
    asked->begun = begun;
    __atomic_fetch_add(&asked->answers, 1, __ATOMIC_RELEASE);
    return begun;
}

/* Expands a template. */
static bool
name_file(const char *template, char *path, size_t size)
{
    const struct heapprof_out_values values = {
        .pid = getpid(),
        .program = rb_heapprof_environment_program(),
        .time = time(NULL),
        .number = ++config.number,
    };
    char name[PATH_MAX];

    if (!rb_heapprof_out_expand(template, &values, name, sizeof(name))) return false;
    const char *directory = name[0] == '/' ? "" : config.directory;
    return (size_t)snprintf(path, size, "%s%s%s", directory, *directory ? "/" : "", name) < size;
}

/* Whether the child has ended. True in a process that was forked since, which does not have that
 * child. */
static bool
gone_p(uint32_t child)
{
    int status;

    return !child || config.pid != getpid() ||
           waitpid((pid_t)child, &status, __WALL | WNOHANG) != 0;
}

/* A free place for a leaving child, or NULL. */
static uint32_t *
place_of_leaving(void)
{
    uint32_t *place = NULL;

    for (int i = 0; i < LEAVING; i++) {
        if (!gone_p(config.leaving[i])) continue;
        config.leaving[i] = 0;
        place = &config.leaving[i];
    }
    return place;
}

/* Whether the last child has only to name its file and to end. On a busy machine several may be
 * ending while the next are asked for. */
static bool
ended_p(void)
{
    struct heapprof_graph_asked *asked = &rb_heapprof_graph_asked;
    uint32_t *leaving = place_of_leaving();

    if (!gone_p(asked->child)) {
        if (!leaving || !__atomic_load_n(&asked->shared->written, __ATOMIC_ACQUIRE)) return false;
        *leaving = asked->child;
    }
    rb_heapprof_graph_unshare(asked->shared);
    asked->shared = NULL;
    asked->child = 0;
    return true;
}

static bool
short_enough_p(double *expected)
{
    *expected = (double)rb_heapprof_graph_expected_pause_ns() / 1e9;
    return config.max_pause_seconds == 0 || *expected <= config.max_pause_seconds;
}

static bool
answer_too_long(double expected)
{
    return answer(false, "no dump: the program would wait for about %.3f s, and max_pause is %g",
                  expected, config.max_pause_seconds);
}

/* Closes the parent's descriptors. The child has its own, and names the file. */
static int
dump_to(const char *path)
{
    struct heapprof_graph_dump dump = {.fork = true, .detached = true};
    struct heapprof_file file;
    int error = rb_heapprof_file_begin(&file, path, "", 0, false);

    if (error) return error;
    dump.file = &file;
    error = rb_heapprof_file_regular_p(&file) ? rb_heapprof_file_step(&file) : ENOTSUP;
    if (error == 0) error = rb_heapprof_graph_dump(&dump);
    config.pid = getpid();
    rb_heapprof_graph_asked.child = (uint32_t)dump.child;
    rb_heapprof_graph_asked.shared = dump.shared;
    if (dump.child) file.temporary[0] = '\0';
    return rb_heapprof_file_end(&file, error);
}

/* Returns whether a dump was begun. */
static bool
dump(const char *template)
{
    char path[PATH_MAX] = "the file";
    double expected;

    if (!ended_p()) return answer(false, "no dump: the one before is still being written");
    if (!short_enough_p(&expected)) return answer_too_long(expected);
    int error = name_file(template, path, sizeof(path)) ? dump_to(path) : ENAMETOOLONG;
    return error ? answer(false, "cannot write %s: %s", path, strerror(error))
                 : answer(true, "%s", path);
}

static void
dump_as_signalled(const struct heapprof_others *others, void *unused)
{
    if (!dump(config.out)) rb_heapprof_say("RUBY_HEAPGRAPH", rb_heapprof_graph_asked.answer);
}

bool
rb_heapprof_graph_dump_as_asked(const char *template)
{
    if (template[0] != '/' || !rb_heapprof_out_template_p(template, strlen(template)))
        return answer(false, "the name of the file has to be absolute");
    rb_heapprof_graph_prepare_soon();
    return dump(template);
}

bool
rb_heapprof_graph_dump_beside(const char *path, pid_t *copy)
{
    double expected;

    if (!ended_p() || !short_enough_p(&expected)) return false;
    rb_heapprof_graph_prepare_soon();
    bool begun = dump_to(path) == 0;
    *copy = (pid_t)rb_heapprof_graph_asked.child;
    return begun;
}

static bool
wanted_p(int64_t *until_ns)
{
    return rb_heapprof_bell_signalled_p(HEAPPROF_DUTY_GRAPH);
}

static void
work(void)
{
    rb_heapprof_own_thread_borrow(dump_as_signalled, NULL);
}

/* Whether dumps by a signal are possible. */
static bool
begin(void)
{
    static const struct heapprof_duty duty = { .wanted_p = wanted_p, .work = work };

    if (!rb_heapprof_own_thread_possible_p() ||
        rb_heapprof_own_thread_take_signal(HEAPPROF_DUTY_GRAPH, rb_heapprof_graph_asked.signal) !=
            0) {
        rb_heapprof_say("RUBY_HEAPGRAPH",
                        "the signal has another handler already, so it writes no dump");
        return false;
    }
    rb_heapprof_graph_prepare();
    rb_heapprof_own_thread_begin(HEAPPROF_DUTY_GRAPH, &duty);
    return true;
}

void
rb_heapprof_graph_signal_start(const char *settings, const char *directory)
{
    if (!settings || !*settings || strcmp(settings, "0") == 0) return;
    strcpy(config.out, OUT_DEFAULT);
    config.directory = directory;
    if (read_settings(settings) && begin()) return;
    rb_heapprof_graph_asked.signal = 0;
}
