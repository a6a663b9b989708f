/* graph.c - the dump of all objects: the process is cloned, and the clone writes while the
 * program goes on.
 *
 *     stop all ractors --> clone --> go on, and wait for the child       graph_child.c
 *                            '-----> write, _exit                        graph_write.c
 *
 * If the system has no room for a child, the dump is written in place, and the program waits for
 * all of it.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "vm/graph/graph.h"
#include "vm/graph/graph_child.h"
#include "vm/graph/graph_write.h"
#include "vm/names/c_globals.h"
#include "gc/graph/graph.h"
#include "gc/book/state.h"
#include "os/clock.h"
#include "vm/run/run.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* How long the program waits for a clone, for each KB that it has in memory in pages of 4 KB.
 * Measured in a virtual machine; outside of one it is a third of that. */
#define PAUSE_NS_OF_KB 50

/* ---- the whole ---- */

static uint64_t
resident_bytes(void)
{
    char text[128] = "";
    unsigned long all = 0, resident = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0) return 0;
    if (read(fd, text, sizeof(text) - 1) > 0) sscanf(text, "%lu %lu", &all, &resident);
    close(fd);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

int64_t
rb_heapprof_graph_expected_pause_ns(void)
{
    return (int64_t)(resident_bytes() / 1024) * PAUSE_NS_OF_KB;
}

/* The number of this process's set of dumps. It differs from those of all other processes. */
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
note_process(struct heapprof_graph_dump *dump)
{
    static uint64_t dumps;

    dump->pid = getpid();
    dump->parent = getppid();
    dump->set = set_number();
    dump->number = ++dumps;
}

/* Called while all ractors are stopped. Returns the child's pid, or 0 if it was written here;
 * then *error is set. */
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

/* The pause begins when the barrier is asked for: it includes waiting for other ractors. */
static pid_t
write_stopped(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared, int *error)
{
    pid_t child;

    dump->begun_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    bool before = rb_heapprof_gc_begin_still();
    if (rb_heapprof_on) rb_heapprof_gc_settle_all();
    note_process(dump);
    dump->baseline = rb_heapprof_gc_graph_baseline_p();
    child = write_or_clone(dump, shared, error);
    rb_heapprof_gc_graph_begin_baseline();
    rb_heapprof_gc_end_still(before);
    RB_VM_LOCK_LEAVE();
    dump->pause_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) - dump->begun_ns;
    return child;
}

/* ---- compaction ---- */

static void
follow_moves_i(void *unused)
{
    rb_heapprof_gc_graph_follow_moves();
}

/* A compaction updates the references of all objects, so it calls this one, too. */
static const rb_data_type_t follower_type = {
    "heap_graph/follower", { NULL, NULL, NULL, follow_moves_i }, 0, 0, 0
};

static VALUE follower;           /* 0 until a dump was asked for */

void
rb_heapprof_graph_prepare(void)
{
    RB_VM_LOCK_ENTER();
    if (!follower) {
        rb_gc_register_address(&follower);
        follower = TypedData_Wrap_Struct(0, &follower_type, &follower);
    }
    RB_VM_LOCK_LEAVE();
}

static void
prepare_in_job(void *unused)
{
    rb_heapprof_graph_prepare();
}

/* If the job comes too late, the next dump says that objects cannot be told any more. */
void
rb_heapprof_graph_prepare_soon(void)
{
    if (follower) return;
    rb_postponed_job_handle_t job = rb_postponed_job_preregister(0, prepare_in_job, NULL);
    if (job != POSTPONED_JOB_HANDLE_INVALID) rb_postponed_job_trigger(job);
}

/* ---- a dump ---- */

int
rb_heapprof_graph_dump(struct heapprof_graph_dump *dump)
{
    struct heapprof_graph_shared *shared = dump->fork ? rb_heapprof_graph_share() : NULL;
    struct heapprof_symbols c_globals;
    int error = 0;

    dump->resident_bytes = resident_bytes();
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
