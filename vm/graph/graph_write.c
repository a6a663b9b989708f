/* graph_write.c - the graph of all objects as a file: a header about the process, the records, a
 * footer.
 *
 *     pid, host, time, mode ...  |  the records of gc/graph  |  how long it took
 *     write_process              |                           |  write_footer
 *
 * Runs in a child that is a copy of one thread, or in place. Takes no lock that another thread
 * may hold.
 */
#include "ruby/ruby.h"
#include "vm/graph/graph_write.h"
#include "base/version.h"
#include "gc/book/state.h"
#include "gc/graph/graph.h"
#include "os/clock.h"
#include "vm/names/c_globals.h"
#include "vm/run/environment.h"
#include "vm/run/flush.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most memory for the tables of a dump: names, layouts, objects with many references. */
#define MEMORY_BYTES ((size_t)1 << 30)

/* ---- where it goes ---- */

static int
write_file(struct heapprof_file *file, const char *bytes, size_t size)
{
    int error;

    file->bytes = bytes;
    file->left = size;
    while ((error = rb_heapprof_file_step(file)) == EINTR);
    return error;
}

/* Ruby's pipes are non-blocking. */
static int
wait_writable(int fd)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};

    return poll(&writable, 1, -1) < 0 && errno != EINTR ? errno : 0;
}

static int
write_fd(int fd, const char *bytes, size_t size)
{
    int error = 0;

    while (size > 0 && error == 0) {
        size_t written = rb_heapprof_file_write(fd, bytes, size);
        bytes += written;
        size -= written;
        if (size > 0 && errno == EAGAIN) error = wait_writable(fd);
        else if (size > 0 && errno != EINTR) error = errno;
    }
    return error;
}

static int
write_i(void *data, const char *bytes, size_t size)
{
    const struct heapprof_graph_dump *dump = data;

    return dump->file ? write_file(dump->file, bytes, size) : write_fd(dump->fd, bytes, size);
}

/* ---- of the process ---- */

static void
pair(struct heapprof_dump_writer *writer, const char *key, const char *value)
{
    rb_heapprof_dump_pair(writer, HEAPPROF_DUMP_PROCESS, key, value);
}

static void
pair_number(struct heapprof_dump_writer *writer, const char *key, uint64_t value)
{
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_PROCESS, key, value);
}

static void
pair_string(struct heapprof_dump_writer *writer, const char *key, VALUE string)
{
    char text[1024];

    if (!RB_TYPE_P(string, T_STRING)) return;
    snprintf(text, sizeof(text), "%.*s", (int)RSTRING_LEN(string), RSTRING_PTR(string));
    pair(writer, key, text);
}

static void
pair_values(struct heapprof_dump_writer *writer, size_t values_bytes)
{
    if (values_bytes == 0) pair(writer, "values", "none");
    else if (values_bytes == SIZE_MAX) pair(writer, "values", "all");
    else pair_number(writer, "values", values_bytes);
}

static void
write_process(struct heapprof_dump_writer *writer, const struct heapprof_graph_dump *dump)
{
    const char *directory = rb_heapprof_environment_directory();
    char host[256] = "";

    pair_number(writer, "pid", (uint64_t)dump->pid);
    pair_number(writer, "parent", (uint64_t)dump->parent);
    pair_number(writer, "time", (uint64_t)rb_heapprof_clock_ns(CLOCK_REALTIME));
    pair(writer, "heapprof", HEAPPROF_VERSION);
    pair(writer, "ruby", rb_heapprof_description);
    pair(writer, "platform", RUBY_PLATFORM);
    pair_string(writer, "program", GET_VM()->orig_progname);
    pair_string(writer, "title", GET_VM()->progname);
    if (directory[0]) pair(writer, "directory", directory);
    if (gethostname(host, sizeof(host) - 1) == 0) pair(writer, "host", host);
    pair_number(writer, "set", dump->set);
    pair_number(writer, "dump", dump->number);
    pair(writer, "mode", dump->mode);
    pair_number(writer, "gc", dump->gc);
    pair_number(writer, "gc_count", rb_heapprof_gc_count());
    pair_values(writer, dump->values_bytes);
    pair_number(writer, "survivors", dump->baseline);
    pair_number(writer, "resident", dump->resident_bytes);
    if (rb_heapprof_on) pair_number(writer, "profiler", rb_heapprof.mem.used_bytes);
}

/* ---- what it took ---- */

/* The parent sets how long it was stopped as soon as it runs. A faster child waits for that. */
static int64_t
pause_of_parent(const struct heapprof_graph_shared *shared)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    int64_t pause_ns = 0;

    for (int i = 0; i < 1000; i++) {
        pause_ns = __atomic_load_n(&shared->pause_ns, __ATOMIC_ACQUIRE);
        if (pause_ns != 0) break;
        nanosleep(&millisecond, NULL);
    }
    return pause_ns;
}

/* In /proc/self/smaps_rollup, "Private_Dirty:     123 kB". */
static uint64_t
kb_of(const char *text, const char *key)
{
    const char *found = strstr(text, key);

    return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* What a child shares with nobody: what either process has written since, and its own tables.
 * Returns 0 if that is not known. */
static uint64_t
copied_bytes(void)
{
    char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0) close(fd);
    text[length > 0 ? length : 0] = '\0';
    return (kb_of(text, "Private_Clean:") + kb_of(text, "Private_Dirty:")) * 1024;
}

static void
write_footer(struct heapprof_dump_writer *writer, const struct heapprof_graph_dump *dump,
             const struct heapprof_graph_shared *shared)
{
    int64_t duration_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - dump->begun_ns;
    int64_t pause_ns = shared ? pause_of_parent(shared) : duration_ns;

    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "pause_ns", (uint64_t)pause_ns);
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "duration_ns",
                                 (uint64_t)duration_ns);
    if (!shared) return;
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "expected_pause_ns",
                                 (uint64_t)dump->expected_ns);
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "copied_bytes", copied_bytes());
}

int
rb_heapprof_graph_write(struct heapprof_graph_dump *dump,
                        const struct heapprof_graph_shared *shared)
{
    struct heapprof_graph graph = {.values_bytes = dump->values_bytes};

    graph.baseline = dump->baseline;
    if (dump->c_globals) graph.c_global_name = rb_heapprof_c_globals_name;
    graph.c_global_data = dump->c_globals;
    rb_heapprof_mem_init(&graph.mem, MEMORY_BYTES);
    rb_heapprof_dump_start(&graph.writer, &graph.mem, write_i, dump);
    write_process(&graph.writer, dump);
    rb_heapprof_gc_graph_write(&graph);
    write_footer(&graph.writer, dump, shared);
    int error = rb_heapprof_dump_finish(&graph.writer);

    dump->bytes = graph.writer.file_bytes;
    rb_heapprof_gc_graph_free(&graph);
    rb_heapprof_dump_free(&graph.writer);
    return error;
}

static int
write_nowhere_i(void *unused, const char *bytes, size_t size)
{
    return 0;
}

void
rb_heapprof_graph_check(void)
{
    struct heapprof_graph graph = {.values_bytes = 0};

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    bool before = rb_heapprof_gc_begin_still();
    rb_heapprof_mem_init(&graph.mem, MEMORY_BYTES);
    rb_heapprof_dump_start(&graph.writer, &graph.mem, write_nowhere_i, NULL);
    rb_heapprof_gc_graph_write(&graph);
    rb_heapprof_gc_graph_checked(&graph);
    rb_heapprof_gc_graph_free(&graph);
    rb_heapprof_dump_free(&graph.writer);
    rb_heapprof_gc_end_still(before);
    RB_VM_LOCK_LEAVE();
}
