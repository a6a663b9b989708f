/* fates.c - marks from all that goes on. A waiter that is woken goes on, too, and what is on its
 * stack is marked: until nothing changes. Then what is left is stuck or held.
 *
 * 1. A waiter is closed: its stack is not followed before it goes on.
 *
 * 2. A running thread or fiber gives both marks, REACHED and OUTSIDE, to what is on its stack. A
 * fiber scheduler gives REACHED alone, for it has all its fibers; so do words on the stack of its
 * thread, which are the scheduler's own, as far as they have no name. So a fiber without OUTSIDE is
 * one that only its scheduler has.
 *
 * 3. A waiter with OUTSIDE that nothing has woken is held, and goes on as if it were ended: what
 * its end wakes is not stuck. A thread needs no scheduler: any mark holds it.
 *
 * Each object is followed at most twice. Nothing recurses. */
#include "graph/fates.h"

enum {BOTH = GRAPH_REACHED | GRAPH_OUTSIDE};

#define GROW(fates, array, count) \
    GRAPH_SPACE_GROW((fates)->space, (fates)->array, (fates)->array##_capacity, (size_t)(count))

static enum graph_part
part_of(const struct graph_fates *fates, uint32_t object)
{
    return graph_part(fates->waiters, fates->graph, object);
}

bool
graph_no_way_p(const struct graph_fates *fates, uint32_t from, uint32_t to, uint32_t label)
{
    switch (part_of(fates, from)) {
      case GRAPH_RACTOR_PART:
      case GRAPH_FIBER_PART: return graph_field_named_p(fates->graph, label, "thread");
      case GRAPH_MONITOR_PART: return part_of(fates, to) == GRAPH_FIBER_PART;
      default: return false;
    }
}

/* ---- marking ---- */

/* Wakes what waits for this. */
static void
wake(struct graph_fates *fates, uint32_t object, bool goes_on)
{
    const struct graph_wake *wakes = fates->waiters->wakes;
    uint32_t low = 0, high = fates->waiters->wake_count;

    if (!(fates->marks[object] & GRAPH_AWAITED)) return;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (wakes[middle].object < object) low = middle + 1;
        else high = middle;
    }
    for (; low < fates->waiters->wake_count && wakes[low].object == object; low++) {
        uint32_t waiter = wakes[low].waiter;
        if (wakes[low].goes_on != goes_on || fates->of[waiter] != GRAPH_STUCK) continue;
        fates->of[waiter] = GRAPH_WOKEN;
        fates->woken[fates->woken_count++] = waiter;
    }
}

static void
mark(struct graph_fates *fates, uint32_t object, uint8_t with)
{
    uint8_t before = fates->marks[object];

    if (!(with & ~before)) return;
    fates->marks[object] |= with;
    if (!(before & GRAPH_REACHED)) wake(fates, object, false);
    graph_fates_push(fates, object);
}

/* A thread goes on, and so does its Ractor. */
static void
go_on(struct graph_fates *fates, uint32_t object)
{
    const struct graph *graph = fates->graph;

    if (fates->marks[object] & GRAPH_GOES_ON) return;
    fates->marks[object] |= GRAPH_GOES_ON;
    wake(fates, object, true);
    for (uint32_t i = graph->first[object]; i < graph->first[object + 1]; i++) {
        uint32_t to = graph->targets[i];
        if (part_of(fates, to) != GRAPH_RACTOR_PART) continue;
        if (graph_field_named_p(graph, graph->labels[i], "ractor")) wake(fates, to, true);
    }
}

static void
follow(struct graph_fates *fates, uint32_t from)
{
    const struct graph *graph = fates->graph;
    enum graph_part part = part_of(fates, from);
    uint32_t class_object = graph_class(graph, from);
    uint8_t all = fates->marks[from] & BOTH, with;

    if (part == GRAPH_THREAD_PART || part == GRAPH_FIBER_PART) {
        go_on(fates, from);
        all = BOTH;
    }
    if (fates->marks[from] & GRAPH_SCHEDULER) all = GRAPH_REACHED;
    for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
        uint32_t to = graph->targets[i];
        bool word = (fates->marks[from] & GRAPH_SCHEDULES) &&
                    graph_label_kind(graph->labels[i]) == HEAPPROF_DUMP_STACK;
        with = word ? GRAPH_REACHED : all;
        if ((with & ~fates->marks[to]) && !graph_no_way_p(fates, from, to, graph->labels[i])) {
            mark(fates, to, with);
        }
    }
    if (class_object) mark(fates, class_object, all);
}

/* Follows a thread or fiber that goes on, although nothing may lead to it. */
static void
follow_running(struct graph_fates *fates, uint32_t object)
{
    fates->marks[object] &= (uint8_t)~GRAPH_CLOSED;
    mark(fates, object, BOTH);
    graph_fates_push(fates, object);
}

static void
follow_all(struct graph_fates *fates)
{
    while (fates->pending_count > 0 || fates->woken_count > 0) {
        if (fates->pending_count > 0) follow(fates, graph_fates_pop(fates));
        else {
            const struct graph_waiter *waiter =
                &fates->waiters->all[fates->woken[--fates->woken_count]];
            follow_running(fates, waiter->object);
            follow_running(fates, waiter->stack);
        }
    }
}

/* The VM's roots lead to all Ractors. A Ractor that goes on is reached by its threads. */
static void
follow_roots(struct graph_fates *fates)
{
    const struct graph *graph = fates->graph;

    for (uint32_t i = 0; i < graph->root_count; i++) {
        const struct graph_root *root = &graph->roots[i];
        if (part_of(fates, root->target) == GRAPH_RACTOR_PART &&
            root->label == HEAPPROF_DUMP_ROOT) continue;
        mark(fates, root->target, BOTH);
    }
    for (uint32_t i = 0; i < fates->waiters->running_count; i++) {
        follow_running(fates, fates->waiters->running[i]);
    }
    follow_all(fates);
}

static void
close_waiter(struct graph_fates *fates, const struct graph_waiter *waiter)
{
    fates->marks[waiter->object] |= GRAPH_CLOSED;
    fates->marks[waiter->stack] |= GRAPH_CLOSED;
}

static void
open_waiter(struct graph_fates *fates, const struct graph_waiter *waiter)
{
    fates->marks[waiter->object] &= (uint8_t)~GRAPH_CLOSED;
    fates->marks[waiter->stack] &= (uint8_t)~GRAPH_CLOSED;
}

static void
note_scheduler(struct graph_fates *fates, uint32_t thread, uint32_t scheduler)
{
    const struct graph *graph = fates->graph;

    fates->marks[scheduler] |= GRAPH_SCHEDULER;
    fates->marks[thread] |= GRAPH_SCHEDULES;
    for (uint32_t i = graph->first[thread]; i < graph->first[thread + 1]; i++) {
        if (graph_field_named_p(graph, graph->labels[i], "current fiber") ||
            graph_field_named_p(graph, graph->labels[i], "root fiber")) {
            fates->marks[graph->targets[i]] |= GRAPH_SCHEDULES;
        }
    }
}

static void
note_schedulers(struct graph_fates *fates)
{
    const struct graph *graph = fates->graph;

    for (uint32_t object = 1; object <= graph->count; object++) {
        uint32_t scheduler;
        if (part_of(fates, object) != GRAPH_THREAD_PART) continue;
        scheduler = graph_field_target(graph, object, "scheduler");
        if (scheduler) note_scheduler(fates, object, scheduler);
    }
}

/* ---- the fates ---- */

/* Lets go on all that are held so far. Returns false if there are none. */
static bool
hold(struct graph_fates *fates)
{
    bool any = false;

    for (uint32_t i = 0; i < fates->waiters->count; i++) {
        const struct graph_waiter *waiter = &fates->waiters->all[i];
        uint8_t needed = waiter->fiber ? GRAPH_OUTSIDE : GRAPH_REACHED;
        if (fates->of[i] != GRAPH_STUCK || !(fates->marks[waiter->object] & needed)) continue;
        fates->of[i] = GRAPH_HELD;
        fates->woken[fates->woken_count++] = i;
        any = true;
    }
    follow_all(fates);
    return any;
}

bool
graph_fates_find(struct graph_fates *fates, struct graph *graph,
                 const struct graph_waiters *waiters)
{
    size_t count = (size_t)graph->count + 1;

    *fates = (struct graph_fates){.space = &graph->space, .graph = graph, .waiters = waiters};
    if (!GROW(fates, marks, count) || !GROW(fates, pending, count) ||
        !GROW(fates, of, waiters->count) ||
        !GROW(fates, woken, waiters->count)) return false;
    note_schedulers(fates);
    for (uint32_t i = 0; i < waiters->count; i++) close_waiter(fates, &waiters->all[i]);
    for (uint32_t i = 0; i < waiters->wake_count; i++) {
        fates->marks[waiters->wakes[i].object] |= GRAPH_AWAITED;
    }
    follow_roots(fates);
    while (hold(fates));
    return true;
}

void
graph_fates_mark_woken(struct graph_fates *fates)
{
    const struct graph_waiters *waiters = fates->waiters;

    for (uint32_t i = 0; i < waiters->count; i++) {
        const struct graph_waiter *waiter = &waiters->all[i];
        bool led_to = !waiter->fiber || (fates->marks[waiter->object] & GRAPH_REACHED);
        if (fates->of[i] != GRAPH_WOKEN && led_to) close_waiter(fates, waiter);
        else open_waiter(fates, waiter);
    }
    for (uint32_t i = 0; i <= fates->graph->count; i++) {
        fates->marks[i] &= GRAPH_SCHEDULER | GRAPH_SCHEDULES | GRAPH_CLOSED;
    }
    for (uint32_t i = 0; i < waiters->count; i++) {
        if (fates->of[i] != GRAPH_WOKEN) continue;
        follow_running(fates, waiters->all[i].object);
        follow_running(fates, waiters->all[i].stack);
    }
    follow_roots(fates);
}

void
graph_fates_free(struct graph_fates *fates)
{
    GRAPH_SPACE_RELEASE(fates->space, fates->marks, fates->marks_capacity);
    GRAPH_SPACE_RELEASE(fates->space, fates->of, fates->of_capacity);
    GRAPH_SPACE_RELEASE(fates->space, fates->pending, fates->pending_capacity);
    GRAPH_SPACE_RELEASE(fates->space, fates->woken, fates->woken_capacity);
}
