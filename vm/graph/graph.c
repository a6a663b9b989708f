/* graph.c - the graph of all objects, as a file: what is said of the process, and who writes it.
 *
 *     stop all ractors --> clone --> go on, and wait for the child       graph_child.c
 *                            '-----> write, _exit
 *
 * Where the system has no room for a child it is written in place, and the program waits for all of it. */
#include "ruby/ruby.h"
#include "vm/graph/graph.h"
#include "base/version.h"
#include "vm/names/c_globals.h"
#include "vm/run/flush.h"
#include "gc/graph/graph.h"
#include "gc/book/state.h"
#include "os/clock.h"
#include "vm/run/run.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

/* That the program waits for its copy, for each KB that it has in memory in pages of 4 KB: in a virtual machine; outside of one
 * it is a third of that. */
#define PAUSE_NS_OF_KB 50

/* Most of the tables of a dump: names, layouts, what refers to most. */
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

/* Ruby's pipes do not wait by themselves. */
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

/* Told apart from those of all other processes. */
static uint64_t
set_number(void)
{
    static uint64_t set;
    static pid_t of;

    if (of != getpid()) set = rb_heapprof_random_seed();
    of = getpid();
    return set;
}

static void
write_process(struct heapprof_dump_writer *writer, const struct heapprof_graph_dump *dump)
{
    char host[256] = "";

    pair_number(writer, "pid", (uint64_t)dump->pid);
    pair_number(writer, "parent", (uint64_t)dump->parent);
    pair_number(writer, "time", (uint64_t)rb_heapprof_clock_ns(CLOCK_REALTIME));
    pair(writer, "heapprof", HEAPPROF_VERSION);
    pair(writer, "ruby", rb_heapprof_description);
    pair(writer, "platform", RUBY_PLATFORM);
    pair_string(writer, "program", GET_VM()->orig_progname);
    pair_string(writer, "title", GET_VM()->progname);
    if (gethostname(host, sizeof(host) - 1) == 0) pair(writer, "host", host);
    pair_number(writer, "set", dump->set);
    pair_number(writer, "dump", dump->number);
    pair(writer, "mode", dump->mode);
    pair_number(writer, "gc", dump->gc);
    pair_number(writer, "gc_count", rb_heapprof_gc_count());
    pair_values(writer, dump->values_bytes);
    pair_number(writer, "survivors", dump->baseline);
}

/* ---- the whole ---- */

/* The parent tells how long it has waited as soon as it runs; a child that is faster waits for it. */
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

int64_t
rb_heapprof_graph_expected_pause_ns(void)
{
    char text[128] = "";
    unsigned long all = 0, resident = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0) return 0;
    if (read(fd, text, sizeof(text) - 1) > 0) sscanf(text, "%lu %lu", &all, &resident);
    close(fd);
    return (int64_t)resident * sysconf(_SC_PAGESIZE) / 1024 * PAUSE_NS_OF_KB;
}

static void
write_footer(struct heapprof_dump_writer *writer, const struct heapprof_graph_dump *dump,
             const struct heapprof_graph_shared *shared)
{
    int64_t duration_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - dump->begun_ns;
    int64_t pause_ns = shared ? pause_of_parent(shared) : duration_ns;

    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "pause_ns", (uint64_t)pause_ns);
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "duration_ns", (uint64_t)duration_ns);
    if (!shared) return;
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "expected_pause_ns", (uint64_t)dump->expected_ns);
    rb_heapprof_dump_pair_number(writer, HEAPPROF_DUMP_FOOTER, "copied_bytes", rb_heapprof_graph_copied_bytes());
}

int
rb_heapprof_graph_write(struct heapprof_graph_dump *dump, const struct heapprof_graph_shared *shared)
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

static void
note_process(struct heapprof_graph_dump *dump)
{
    static uint64_t dumps;

    dump->pid = getpid();
    dump->parent = getppid();
    dump->set = set_number();
    dump->number = ++dumps;
}

/* While all ractors are stopped. The child's number; 0: it is written here, with this error. */
static pid_t
write_or_clone(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared, int *error)
{
    dump->mode = "fork";
    pid_t child = shared ? rb_heapprof_graph_clone(dump, shared) : -1;

    if (child > 0) return child;
    dump->mode = "in place";
    *error = rb_heapprof_graph_write(dump, NULL);
    return 0;
}

/* Its pause is from the moment it is asked for: other ractors are waited for, too. */
static pid_t
write_stopped(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared, int *error)
{
    pid_t child;

    dump->begun_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    bool before = rb_heapprof_gc_begin_still();
    if (rb_heapprof_on) rb_heapprof_gc_resolve_all();
    note_process(dump);
    dump->baseline = rb_heapprof_gc_graph_baseline_p();
    child = write_or_clone(dump, shared, error);
    rb_heapprof_gc_graph_begin_baseline();
    rb_heapprof_gc_end_still(before);
    RB_VM_LOCK_LEAVE();
    dump->pause_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - dump->begun_ns;
    return child;
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

/* ---- compaction ---- */

static void
follow_moves_i(void *unused)
{
    rb_heapprof_gc_graph_follow_moves();
}

/* Its references are updated, as those of all objects. */
static const rb_data_type_t follower_type = {"heap_graph/follower", {NULL, NULL, NULL, follow_moves_i}, 0, 0, 0};

void
rb_heapprof_graph_prepare(void)
{
    static VALUE follower;

    RB_VM_LOCK_ENTER();
    if (!follower) {
        rb_gc_register_address(&follower);
        follower = TypedData_Wrap_Struct(0, &follower_type, &follower);
    }
    RB_VM_LOCK_LEAVE();
}

/* ---- a dump ---- */

int
rb_heapprof_graph_dump(struct heapprof_graph_dump *dump)
{
    struct heapprof_graph_shared *shared = dump->fork ? rb_heapprof_graph_share() : NULL;
    struct heapprof_symbols c_globals;
    int error = 0;

    dump->expected_ns = rb_heapprof_graph_expected_pause_ns();
    rb_heapprof_c_globals_find(&c_globals);
    dump->c_globals = &c_globals;
    pid_t child = write_stopped(dump, shared, &error);
    dump->c_globals = NULL;
    rb_heapprof_symbols_free(&c_globals);

    if (child) {
        __atomic_store_n(&shared->pause_ns, dump->pause_ns, __ATOMIC_RELEASE);
        if (dump->detached) {
            dump->child = child;
            dump->shared = shared;
            return 0;
        }
        error = rb_heapprof_graph_wait(dump, shared, child);
    }
    rb_heapprof_graph_unshare(shared);
    return error;
}

int
rb_heapprof_graph_dump_file(struct heapprof_graph_dump *dump, const char *path)
{
    struct heapprof_file file;
    int error = rb_heapprof_file_begin(&file, path, "", 0, true);

    if (error) return error;
    rb_heapprof_graph_prepare();
    dump->file = &file;
    while ((error = rb_heapprof_file_step(&file)) == EINTR);
    if (error == 0) error = rb_heapprof_graph_dump(dump);
    return rb_heapprof_file_end(&file, error);
}
