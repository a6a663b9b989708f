/* graph_child.c - the child that writes the graph of all objects, while the program goes on.
 *
 * It is a copy of one thread, in a house where everyone else has frozen. A lock that another
 * thread held is held for ever. So the child takes no such lock, above all not malloc's, and runs
 * no handler of fork (jemalloc's, tcmalloc's, a program's). When it ends the parent gets no
 * signal: neither wait nor SIGCHLD tells of it.
 */
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include "vm/run/child.h"
#include "vm/graph/graph_child.h"
#include "vm/graph/graph_write.h"
#include "gc/graph/graph.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct heapprof_graph_shared *
rb_heapprof_graph_share(void)
{
    return rb_heapprof_child_share(sizeof(struct heapprof_graph_shared));
}

void
rb_heapprof_graph_unshare(struct heapprof_graph_shared *shared)
{
    if (shared) munmap(shared, sizeof(*shared));
}

/* ---- the child ---- */

/* Another process may wait until the program closes a descriptor. It must not have to wait for
 * this child, too. */
static void
close_others(int one, int another)
{
    unsigned int low = (unsigned int)(one < another ? one : another);
    unsigned int high = (unsigned int)(one < another ? another : one);

    if (low > 0) syscall(SYS_close_range, 0, low - 1, 0);
    if (high > low + 1) syscall(SYS_close_range, low + 1, high - 1, 0);
    syscall(SYS_close_range, high + 1, ~0U, 0);
}

NORETURN(static void be_child(struct heapprof_graph_dump *dump,
                              struct heapprof_graph_shared *shared));

static void
be_child(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared)
{
    rb_heapprof_child_take_no_signals();
    if (dump->file) close_others(dump->file->fd, dump->file->directory);
    else close_others(dump->fd, dump->fd);
    rb_heapprof_child_die_first();
    setpriority(PRIO_PROCESS, 0, 19); /* it gets the processor last */
    rb_heapprof_gc_graph_guard();
    int error = rb_heapprof_graph_write(dump, shared);
    __atomic_store_n(&shared->written, true, __ATOMIC_RELEASE);
    if (dump->file) error = rb_heapprof_file_end(dump->file, error);
    shared->bytes = dump->bytes;
    shared->error = error;
    shared->done = true;
    _exit(0);
}

pid_t
rb_heapprof_graph_clone(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
    if (child == 0) be_child(dump, shared);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return child;
}

/* ---- the parent ---- */

struct heapprof_graph_waiting {
    struct heapprof_graph_shared *shared;
    pid_t child;
    bool  ended;
    int   killed_by;             /* a signal; 0: none */
};

static void *
wait_without_gvl(void *data)
{
    struct heapprof_graph_waiting *waiting = data;
    int status = 0;
    bool waited = waitpid(waiting->child, &status, __WALL) == waiting->child;

    waiting->ended = waited || errno == ECHILD;
    if (waited && WIFSIGNALED(status)) waiting->killed_by = WTERMSIG(status);
    return NULL;
}

static VALUE
wait_serving_interrupts(VALUE data)
{
    struct heapprof_graph_waiting *waiting = (struct heapprof_graph_waiting *)data;

    while (!waiting->ended) {
        rb_nogvl(wait_without_gvl, waiting, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
        if (!waiting->ended) rb_thread_check_ints();
    }
    return Qnil;
}

/* Ends the child if an interrupt raises. */
static VALUE
end_waiting(VALUE data)
{
    struct heapprof_graph_waiting *waiting = (struct heapprof_graph_waiting *)data;

    if (waiting->ended) return Qnil;
    kill(waiting->child, SIGKILL);
    while (!waiting->ended) wait_without_gvl(waiting);
    rb_heapprof_graph_unshare(waiting->shared);
    return Qnil;
}

/* A pending interrupt is served later. While one is pending the GVL cannot be given up, so other
 * threads wait, too. */
static void
wait_for_end(struct heapprof_graph_waiting *waiting)
{
    while (!waiting->ended) {
        rb_thread_call_without_gvl2(wait_without_gvl, waiting, NULL, NULL);
        if (!waiting->ended) wait_without_gvl(waiting);
    }
}

int
rb_heapprof_graph_wait(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared,
                       pid_t child)
{
    struct heapprof_graph_waiting waiting = {.shared = shared, .child = child};

    if (dump->uninterrupted) wait_for_end(&waiting);
    else rb_ensure(wait_serving_interrupts, (VALUE)&waiting, end_waiting, (VALUE)&waiting);
    dump->bytes = shared->bytes;
    if (!shared->done) {
        dump->killed_by = waiting.killed_by;
        return ECHILD;
    }
    if (shared->error == 0 && dump->file)
        dump->file->temporary[0] = '\0'; /* it has its final name */
    return shared->error;
}
