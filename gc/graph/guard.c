/* guard.c - calls of an extension's functions in the child of a fork: a diver on a rope.
 * Compiled inside gc.c.
 *
 * A function that marks an extension's object, or says how large it is, may wait for a lock
 * that another thread had when the process was copied. Or it may read memory that is not in the
 * copy. So a signal ends the call: SIGSEGV and SIGBUS at once, the clock when it finds the same
 * call twice. What the function has written is in the child alone. Its type is not asked again.
 */
#include "gc/graph/form.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#define GRAPH_SKIPPED_MOST 64
#define GRAPH_TICK_SECONDS 2

static struct {
    sigjmp_buf back;
    volatile sig_atomic_t calling;
    volatile unsigned long call; /* the number of the call */
    volatile unsigned long seen; /* the number that the clock saw last */
    bool on;                     /* this is a child */
    struct { const void *type; const char *name; } skipped[GRAPH_SKIPPED_MOST];
    size_t skipped_count;
} graph_guard;

static void
graph_fault(int signal)
{
    if (graph_guard.calling) siglongjmp(graph_guard.back, 1);
    _exit(1); /* the fault is ours: the parent says that its child has died */
}

static void
graph_tick(int signal)
{
    if (graph_guard.calling && graph_guard.seen == graph_guard.call)
        siglongjmp(graph_guard.back, 1);
    graph_guard.seen = graph_guard.call;
}

HEAPPROF_COLD void
rb_heapprof_gc_graph_guard(void)
{
    const struct itimerval every = {{GRAPH_TICK_SECONDS, 0}, {GRAPH_TICK_SECONDS, 0}};
    struct sigaction fault = {.sa_handler = graph_fault, .sa_flags = SA_NODEFER | SA_ONSTACK};
    struct sigaction tick = { .sa_handler = graph_tick,
                              .sa_flags = SA_NODEFER | SA_ONSTACK | SA_RESTART };

    graph_guard.on = true;
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGBUS, &fault, NULL);
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

/* The type, or the mark function of an object without one: they decide which functions are
 * called. */
static const void *
graph_type_of(VALUE object)
{
    return RTYPEDDATA_P(object) ? (const void *)RTYPEDDATA_TYPE(object)
                                : (const void *)(uintptr_t)RDATA(object)->dmark;
}

static bool
graph_skipped_p(VALUE object)
{
    for (size_t i = 0; i < graph_guard.skipped_count; i++) {
        if (graph_guard.skipped[i].type == graph_type_of(object)) return true;
    }
    return false;
}

/* Ends a call that failed. What it has marked is forgotten: it may be half of it. */
HEAPPROF_COLD static void
graph_skip(struct heapprof_graph *graph, VALUE object)
{
    size_t i = graph_guard.skipped_count;

    GET_VM()->gc.mark_func_data = NULL;
    graph_forget_marked(graph);
    if (i == GRAPH_SKIPPED_MOST) {
        graph_failed(graph);
        return;
    }
    graph_guard.skipped[i].type = graph_type_of(object);
    graph_guard.skipped[i].name =
        RTYPEDDATA_P(object) ? RTYPEDDATA_TYPE(object)->wrap_struct_name : "without a type";
    graph_guard.skipped_count++;
}

/* Writes the skipped types into the footer. */
static void
graph_write_skipped(struct heapprof_graph *graph)
{
    for (size_t i = 0; i < graph_guard.skipped_count; i++) {
        rb_heapprof_dump_pair(&graph->writer, HEAPPROF_DUMP_FOOTER, "skipped",
                              graph_guard.skipped[i].name);
    }
}

/* Returns true if the call has come back. */
HEAPPROF_COLD static bool
graph_try(struct heapprof_graph *graph, VALUE object,
          void (*function)(struct heapprof_graph *, VALUE))
{
    bool back = sigsetjmp(graph_guard.back, 0) != 0;

    if (!back) {
        graph_guard.calling = 1;
        function(graph, object);
    }
    graph_guard.calling = 0;
    return !back;
}

/* Calls function, unless the object's type has failed before. Returns true if the call has come
 * back. */
static bool
graph_call(struct heapprof_graph *graph, VALUE object,
           void (*function)(struct heapprof_graph *, VALUE))
{
    if (!graph_guard.on || !RB_TYPE_P(object, T_DATA)) {
        function(graph, object);
        return true;
    }
    if (graph_skipped_p(object)) return false;
    graph_guard.call++;
    if (graph_try(graph, object, function)) return true;
    graph_skip(graph, object);
    return false;
}
