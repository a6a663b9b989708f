/* graph.c - the graph of all objects, as a file: who writes it, and what is said of the process. */
#include "ruby/ruby.h"
#include "graph.h"
#include "flush.h"
#include "gc/graph.h"
#include "gc/state.h"
#include "os/clock.h"
#include "run.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <unistd.h>

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

static int
write_fd(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t written = rb_heapprof_file_write(fd, bytes, size);
        if (written < size && errno != EINTR) return errno;
        bytes += written;
        size -= written;
    }
    return 0;
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
write_process(struct heapprof_dump_writer *writer, const struct heapprof_graph_dump *dump, const char *mode)
{
    static uint64_t dumps;
    char host[256] = "";

    pair_number(writer, "pid", (uint64_t)getpid());
    pair_number(writer, "parent", (uint64_t)getppid());
    pair_number(writer, "time", (uint64_t)rb_heapprof_wall_clock_ns());
    pair(writer, "ruby", rb_heapprof_description);
    pair(writer, "platform", RUBY_PLATFORM);
    pair_string(writer, "program", GET_VM()->orig_progname);
    pair_string(writer, "title", GET_VM()->progname);
    if (gethostname(host, sizeof(host) - 1) == 0) pair(writer, "host", host);
    pair_number(writer, "set", set_number());
    pair_number(writer, "dump", ++dumps);
    pair(writer, "mode", mode);
    pair_number(writer, "gc", dump->gc);
    pair_number(writer, "gc_count", rb_heapprof_gc_count());
    pair_values(writer, dump->values_bytes);
}

/* ---- the whole ---- */

static int
write_all(struct heapprof_graph_dump *dump, const char *mode)
{
    struct heapprof_graph graph = {.values_bytes = dump->values_bytes};
    int64_t begun_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);

    rb_heapprof_mem_init(&graph.mem, MEMORY_BYTES);
    rb_heapprof_dump_start(&graph.writer, &graph.mem, write_i, dump);
    write_process(&graph.writer, dump, mode);
    rb_heapprof_gc_graph_write(&graph);
    dump->pause_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    rb_heapprof_dump_pair_number(&graph.writer, HEAPPROF_DUMP_FOOTER, "pause_ns", (uint64_t)dump->pause_ns);
    rb_heapprof_dump_pair_number(&graph.writer, HEAPPROF_DUMP_FOOTER, "duration_ns", (uint64_t)dump->pause_ns);
    int error = rb_heapprof_dump_finish(&graph.writer);

    dump->bytes = graph.writer.file_bytes;
    rb_heapprof_gc_graph_free(&graph);
    rb_heapprof_dump_free(&graph.writer);
    return error;
}

int
rb_heapprof_graph_dump(struct heapprof_graph_dump *dump)
{
    int error;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    bool before = rb_heapprof_gc_begin_still();
    if (rb_heapprof_on) rb_heapprof_gc_resolve_all();
    error = write_all(dump, "in place");
    rb_heapprof_gc_end_still(before);
    RB_VM_LOCK_LEAVE();
    return error;
}
