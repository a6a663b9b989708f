/* graph_signal.c - the object graph of a program that is asked by a signal: RUBY_HEAPGRAPH=signal=USR1,out=heap-%p-%n.rbgraph
 *
 *     signal --> our thread (own_thread.c), with the GVL borrowed --> clone --> go on at once
 *
 * Nobody waits for the child. It is asked after when the next one is to begin: one at a time.
 */
#include "ruby/ruby.h"
#include "boot.h"
#include "graph.h"
#include "graph_signal.h"
#include "os/bell.h"
#include "os/signals.h"
#include "own_thread.h"
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
#define VALUE_BYTES PATH_MAX

/* That the program waits for its copy, for each KB that it has in memory in pages of 4 KB: in a virtual machine; outside of one
 * it is a third of that. */
#define PAUSE_NS_OF_KB 50

struct heapprof_graph_asked rb_heapprof_graph_asked;

static struct {
    double   max_pause_seconds;       /* 0: any */
    char     out[VALUE_BYTES];
    const char *directory;
    unsigned number;                  /* of the files */
    pid_t    pid;                     /* whose child it is */
} config;

/* ---- settings ---- */

static const char *
read_max_pause(const char *value)
{
    char *end;

    config.max_pause_seconds = strtod(value, &end);
    if (*value && !*end && isfinite(config.max_pause_seconds) && config.max_pause_seconds > 0) return NULL;
    return "seconds, such as 0.5";
}

/* NULL: it is good. Otherwise what is accepted. */
static const char *
read_setting(const char *key, const char *value)
{
    if (strcmp(key, "signal") == 0) {
        rb_heapprof_graph_asked.signal = rb_heapprof_signal_number(value, strlen(value));
        return rb_heapprof_graph_asked.signal ? NULL : HEAPPROF_SIGNALS;
    }
    if (strcmp(key, "out") == 0) {
        snprintf(config.out, sizeof(config.out), "%s", value);
        return *value && rb_heapprof_out_template_p(value, strlen(value))
                   ? NULL : "a file name, such as " OUT_DEFAULT " (%p pid, %e program, %t time, %n number, %%)";
    }
    if (strcmp(key, "max_pause") == 0) return read_max_pause(value);
    return "signal, out or max_pause as the key";
}

static bool
complain_setting(const char *setting, const char *accepted)
{
    char line[256];

    snprintf(line, sizeof(line), "%.64s: expected %.150s", setting, accepted);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
    rb_heapprof_boot_complain("RUBY_HEAPGRAPH", line);
    return false;
}

static bool
read_settings(const char *settings)
{
    char setting[VALUE_BYTES], key[VALUE_BYTES];

    for (const char *next = settings; *next; next += *next == ',') {
        size_t length = strcspn(next, ",");
        if (length >= sizeof(setting)) return complain_setting(next, "less than 4096 characters");
        snprintf(setting, sizeof(setting), "%.*s", (int)length, next);
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(setting, "="), setting);
        const char *accepted = read_setting(key, setting + strlen(key) + (setting[strlen(key)] == '='));
        if (accepted) return complain_setting(setting, accepted);
        next += length;
    }
    return rb_heapprof_graph_asked.signal != 0 || complain_setting(settings, "signal= with a name");
}

/* ---- a dump ---- */

PRINTF_ARGS(static void answer(bool begun, const char *format, ...), 2, 3);

/* The file's path, if a child writes it now; otherwise why not, which is said on stderr, too. */
static void
answer(bool begun, const char *format, ...)
{
    struct heapprof_graph_asked *asked = &rb_heapprof_graph_asked;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(asked->answer, sizeof(asked->answer), format, arguments);
    va_end(arguments);
    asked->begun = begun;
    __atomic_fetch_add(&asked->answers, 1, __ATOMIC_RELEASE);
    if (!begun) rb_heapprof_boot_complain("RUBY_HEAPGRAPH", asked->answer);
}

static bool
name_file(char *path, size_t size)
{
    const struct heapprof_out_values values = {
        .pid = getpid(), .program = rb_heapprof_boot_program(), .time = time(NULL), .number = ++config.number,
    };
    char name[PATH_MAX];

    if (!rb_heapprof_out_expand(config.out, &values, name, sizeof(name))) return false;
    const char *directory = name[0] == '/' ? "" : config.directory;
    return (size_t)snprintf(path, size, "%s%s%s", directory, *directory ? "/" : "", name) < size;
}

/* Whether the one before has ended; a process that has been forked since has none. */
static bool
ended_p(void)
{
    struct heapprof_graph_asked *asked = &rb_heapprof_graph_asked;
    int status;

    if (asked->child && config.pid == getpid() && waitpid((pid_t)asked->child, &status, __WALL | WNOHANG) == 0) return false;
    rb_heapprof_graph_unshare(asked->shared);
    asked->shared = NULL;
    asked->child = 0;
    return true;
}

static uint64_t
resident_kb(void)
{
    char text[128] = "";
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file) return 0;
    if (fgets(text, sizeof(text), file)) sscanf(text, "%lu %lu", &all, &resident);
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static bool
short_enough_p(void)
{
    double expected = (double)(resident_kb() * PAUSE_NS_OF_KB) / 1e9;

    if (config.max_pause_seconds == 0 || expected <= config.max_pause_seconds) return true;
    answer(false, "no dump: the program would wait for about %.3f s, and max_pause is %g", expected,
           config.max_pause_seconds);
    return false;
}

/* The child has descriptors of its own, and gives the file its name. */
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

static void
dump(const struct heapprof_others *others, void *unused)
{
    char path[PATH_MAX];

    if (!ended_p()) {
        answer(false, "no dump: the one before is still being written");
        return;
    }
    if (!short_enough_p()) return;
    int error = name_file(path, sizeof(path)) ? dump_to(path) : ENAMETOOLONG;
    if (error) answer(false, "cannot write %s: %s", path, strerror(error));
    else answer(true, "%s", path);
}

static bool
wanted_p(int64_t *until_ns)
{
    return rb_heapprof_bell_signalled_p(HEAPPROF_DUTY_GRAPH);
}

static void
work(void)
{
    rb_heapprof_own_thread_borrow(dump, NULL);
}

/* Whether there can be any. */
static bool
begin(void)
{
    static const struct heapprof_duty duty = { .wanted_p = wanted_p, .work = work };

    if (!rb_heapprof_own_thread_possible_p() ||
        rb_heapprof_own_thread_take_signal(HEAPPROF_DUTY_GRAPH, rb_heapprof_graph_asked.signal) != 0) {
        rb_heapprof_boot_complain("RUBY_HEAPGRAPH", "the signal is somebody else's");
        return false;
    }
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
