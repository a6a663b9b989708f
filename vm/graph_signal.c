/* graph_signal.c - the object graph of a program that is asked by a signal: RUBY_HEAPGRAPH=signal=USR1,out=heap-%p-%n.rbgraph
 *
 *     handler --> postponed job, where a thread of Ruby looks at interrupts --> clone --> go on at once
 *
 * Nobody waits for the child. It is asked after when the next one is to begin: one at a time.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "boot.h"
#include "graph.h"
#include "graph_signal.h"
#include "os/signals.h"
#include "profiler/out.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
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

static struct {
    int      signal;                  /* 0: none */
    double   max_pause_seconds;       /* 0: any */
    char     out[VALUE_BYTES];
    const char *directory;
    rb_postponed_job_handle_t job;
    unsigned number;                  /* of the files */
    pid_t    pid;                     /* whose child it is */
    pid_t    child;                   /* 0: none */
    struct heapprof_graph_shared *shared; /* with it */
} asked;

/* ---- settings ---- */

static const char *
read_max_pause(const char *value)
{
    char *end;

    asked.max_pause_seconds = strtod(value, &end);
    if (*value && !*end && isfinite(asked.max_pause_seconds) && asked.max_pause_seconds > 0) return NULL;
    return "seconds, such as 0.5";
}

/* NULL: it is good. Otherwise what is accepted. */
static const char *
read_setting(const char *key, const char *value)
{
    if (strcmp(key, "signal") == 0) {
        asked.signal = rb_heapprof_signal_number(value, strlen(value));
        return asked.signal ? NULL : HEAPPROF_SIGNALS;
    }
    if (strcmp(key, "out") == 0) {
        snprintf(asked.out, sizeof(asked.out), "%s", value);
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
    return asked.signal != 0 || complain_setting(settings, "signal= with a name");
}

/* ---- a dump ---- */

static bool
name_file(char *path, size_t size)
{
    const struct heapprof_out_values values = {
        .pid = getpid(), .program = rb_heapprof_boot_program(), .time = time(NULL), .number = ++asked.number,
    };
    char name[PATH_MAX];

    if (!rb_heapprof_out_expand(asked.out, &values, name, sizeof(name))) return false;
    const char *directory = name[0] == '/' ? "" : asked.directory;
    return (size_t)snprintf(path, size, "%s%s%s", directory, *directory ? "/" : "", name) < size;
}

/* Whether the one before has ended; a process that has been forked since has none. */
static bool
ended_p(void)
{
    int status;

    if (asked.child && asked.pid == getpid() && waitpid(asked.child, &status, __WALL | WNOHANG) == 0) return false;
    rb_heapprof_graph_unshare(asked.shared);
    asked.shared = NULL;
    asked.child = 0;
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
    char line[128];

    if (asked.max_pause_seconds == 0 || expected <= asked.max_pause_seconds) return true;
    snprintf(line, sizeof(line), "no dump: the program would wait for about %.3f s, and max_pause is %g", expected,
             asked.max_pause_seconds);
    rb_heapprof_boot_complain("RUBY_HEAPGRAPH", line);
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
    asked.pid = getpid();
    asked.child = dump.child;
    asked.shared = dump.shared;
    if (dump.child) file.temporary[0] = '\0';
    return rb_heapprof_file_end(&file, error);
}

static void
dump_job(void *unused)
{
    char path[PATH_MAX], line[PATH_MAX + 128];

    if (!ended_p()) {
        rb_heapprof_boot_complain("RUBY_HEAPGRAPH", "no dump: the one before is still being written");
        return;
    }
    if (!short_enough_p()) return;
    int error = name_file(path, sizeof(path)) ? dump_to(path) : ENAMETOOLONG;
    if (error == 0) return;
    snprintf(line, sizeof(line), "cannot write %s: %s", path, strerror(error));
    rb_heapprof_boot_complain("RUBY_HEAPGRAPH", line);
}

static void
handle(int signal)
{
    rb_postponed_job_trigger(asked.job);
}

void
rb_heapprof_graph_signal_start(const char *settings, const char *directory)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK};

    if (!settings || !*settings || strcmp(settings, "0") == 0) return;
    strcpy(asked.out, OUT_DEFAULT);
    asked.directory = directory;
    if (!read_settings(settings)) return;
    asked.job = rb_postponed_job_preregister(0, dump_job, NULL);
    if (asked.job == POSTPONED_JOB_HANDLE_INVALID || sigaction(asked.signal, &action, NULL) != 0) {
        rb_heapprof_boot_complain("RUBY_HEAPGRAPH", "the signal cannot be had");
    }
}
