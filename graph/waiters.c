/* waiters.c - finds the waiters by what the dump says of each thread and fiber: its text ends
 * with its state; its frames and what it waits for are references with these names.
 *
 * Only its owner unlocks a Mutex. So who waits for one that a thread has locked wakes if that
 * thread goes on; whether something else reaches the Mutex does not matter. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* memmem, memrchr */
#endif
#include "graph/waiters.h"

#include <stdlib.h>
#include <string.h>

#include "report/own.h"

#define GROW(waiters, array, count) \
    GRAPH_SPACE_GROW((waiters)->space, (waiters)->array, (waiters)->array##_capacity, \
                     (size_t)(count))

#define TEXT_MOST 4096 /* characters that are looked through; a hostile text may have millions */

struct waiter_search {
    struct graph *graph;
    struct graph_waiters *waiters;
    uint8_t  *seen;              /* by object: a thread, or the fiber that a thread runs */
    size_t    seen_capacity;
};

/* ---- names ---- */

static const char *
label_text(const struct graph *graph, uint32_t label)
{
    return graph_string(&graph->names, graph_label_detail(label));
}

bool
graph_field_named_p(const struct graph *graph, uint32_t label, const char *name)
{
    return graph_label_kind(label) == HEAPPROF_DUMP_FIELD &&
           !strcmp(label_text(graph, label), name);
}

static uint8_t
part_of_type(const char *type)
{
    static const struct {const char *type; enum graph_part part;} parts[] = {
        {"T_DATA(VM/thread)", GRAPH_THREAD_PART}, {"T_DATA(fiber)", GRAPH_FIBER_PART},
        {"T_DATA(ractor)", GRAPH_RACTOR_PART}, {"T_DATA(monitor)", GRAPH_MONITOR_PART},
        {"T_DATA(mutex)", GRAPH_MUTEX_PART}, {"T_DATA(queue)", GRAPH_QUEUE_PART},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strcmp(type, parts[i].type)) return (uint8_t)parts[i].part;
    }
    return GRAPH_NO_PART;
}

/* The state that the text of a thread or fiber ends with; "" if it has none. */
static const char *
state_of(const struct graph *graph, uint32_t object)
{
    const char *text = graph_string(&graph->names, graph_text(graph, object));
    size_t end = strnlen(text, TEXT_MOST);

    if (end == TEXT_MOST) return "";
    while (end > 0 && strncmp(text + end, ", ", 2)) end--;
    return end ? text + end + 2 : "";
}

static bool
main_p(const struct graph *graph, uint32_t thread)
{
    const char *text = graph_string(&graph->names, graph_text(graph, thread));

    return !strncmp(text, "main,", 5) || !strncmp(text, "main (", 6);
}

uint32_t
graph_field_target(const struct graph *graph, uint32_t object, const char *name)
{
    for (uint32_t i = graph->first[object]; i < graph->first[object + 1]; i++) {
        if (graph_field_named_p(graph, graph->labels[i], name)) return graph->targets[i];
    }
    return 0;
}

/* ---- frames ---- */

static bool
frame_p(const struct graph *graph, uint32_t label)
{
    return graph_label_kind(label) == HEAPPROF_DUMP_FIELD &&
           graph_role(&graph->names, graph_label_detail(label)) == GRAPH_ROLE_OF_FRAME;
}

/* The file and line of a frame that has code, "app.rb:12"; NULL for another label, and for code of
 * MRI. */
static const char *
place_of_frame(const struct graph *graph, uint32_t label)
{
    const char *text = label_text(graph, label), *at;

    if (!frame_p(graph, label) || strncmp(text, "code in ", 8)) return NULL;
    at = memmem(text, strnlen(text, TEXT_MOST), " at ", 4);
    return at && strncmp(at + 4, "<internal:", 10) ? at + 4 : NULL;
}

/* True if that file is the application's. */
static bool
own_p(const struct graph *graph, const char *place)
{
    const char *line = memrchr(place, ':', strnlen(place, TEXT_MOST));
    char path[TEXT_MOST];

    if (!line) return false;
    memcpy(path, place, (size_t)(line - place));
    path[line - place] = '\0';
    return report_own_p(path, graph_directories(&graph->names));
}

/* Finds where it waits. */
static void
find_where(const struct graph *graph, struct graph_waiter *waiter)
{
    for (uint32_t i = graph->first[waiter->stack]; i < graph->first[waiter->stack + 1]; i++) {
        const char *place = place_of_frame(graph, graph->labels[i]);
        if (!place) continue;
        if (!waiter->where) waiter->where = graph_label_detail(graph->labels[i]);
        if (!own_p(graph, place)) continue;
        waiter->own = graph_label_detail(graph->labels[i]);
        return;
    }
}

/* True if the innermost frame is of a method that sleeps until somebody wakes the thread. */
static bool
stopped_p(const struct graph *graph, uint32_t stack)
{
    for (uint32_t i = graph->first[stack]; i < graph->first[stack + 1]; i++) {
        const char *text = label_text(graph, graph->labels[i]);
        if (frame_p(graph, graph->labels[i])) {
            return !strcmp(text, "self in Thread.stop") ||
                   !strcmp(text, "self in Thread::Mutex#sleep");
        }
    }
    return false;
}

/* ---- what wakes it ---- */

static bool
add_wake(struct graph_waiters *waiters, uint32_t object, bool goes_on)
{
    if (!GROW(waiters, wakes, waiters->wake_count + 1)) return false;
    waiters->wakes[waiters->wake_count++] = (struct graph_wake){object, waiters->count, goes_on};
    return true;
}

/* Forgets those of the waiter that is being made. */
static void
forget_wakes(struct graph_waiters *waiters)
{
    while (waiters->wake_count > 0 &&
           waiters->wakes[waiters->wake_count - 1].waiter == waiters->count) waiters->wake_count--;
}

/* Of a Queue that has something in it, whoever waits has it soon. */
static bool
filled_p(const struct graph *graph, uint32_t queue)
{
    for (uint32_t i = graph->first[queue]; graph->lengths && i < graph->first[queue + 1]; i++) {
        if (graph_layout(graph, graph->targets[i])->collection == GRAPH_ARRAY) {
            return graph->lengths[graph->targets[i]] > 1;
        }
    }
    return false;
}

static bool
add_awaited(struct waiter_search *search, uint32_t awaited, struct graph_waiter *waiter)
{
    enum graph_part part = graph_part(search->waiters, search->graph, awaited);
    bool own = part == GRAPH_RACTOR_PART &&
               awaited == graph_field_target(search->graph, waiter->object, "ractor");
    bool thread = part == GRAPH_THREAD_PART || (part == GRAPH_RACTOR_PART && !own);

    waiter->awaited = awaited;
    waiter->awaits = thread ? GRAPH_AWAITS_THREAD : own ? GRAPH_AWAITS_RACTOR : GRAPH_AWAITS_OBJECT;
    return add_wake(search->waiters, awaited, waiter->awaits == GRAPH_AWAITS_THREAD);
}

/* Adds what the references "waits for" of an object lead to. A Mutex is told beside the Monitor or
 * ConditionVariable that locks it: then only the Mutex counts. */
static bool
add_all_awaited(struct waiter_search *search, uint32_t object, struct graph_waiter *waiter)
{
    const struct graph *graph = search->graph;

    for (uint32_t i = graph->first[object]; i < graph->first[object + 1]; i++) {
        uint32_t owner;
        if (waiter->awaits == GRAPH_AWAITS_OWNER) return true;
        if (!graph_field_named_p(graph, graph->labels[i], "waits for")) continue;
        owner = graph_owner(graph, graph->targets[i]);
        if (!owner) {
            if (!add_awaited(search, graph->targets[i], waiter)) return false;
            continue;
        }
        forget_wakes(search->waiters);
        waiter->awaited = graph->targets[i];
        waiter->awaits = GRAPH_AWAITS_OWNER;
        if (!add_wake(search->waiters, owner, true)) return false;
    }
    return true;
}

/* ---- threads and fibers ---- */

static bool
add_waiter(struct graph_waiters *waiters, const struct graph_waiter *waiter)
{
    if (!GROW(waiters, all, waiters->count + 1)) return false;
    waiters->all[waiters->count++] = *waiter;
    return true;
}

static bool
add_running(struct graph_waiters *waiters, uint32_t thread)
{
    if (!GROW(waiters, running, waiters->running_count + 1)) return false;
    waiters->running[waiters->running_count++] = thread;
    return true;
}

/* Returns true the first time. */
static bool
first_seen(struct waiter_search *search, uint32_t object)
{
    return search->seen[object]++ == 0;
}

/* The fiber that the thread runs, if it is an object; 0 if not, or if another thread says the
 * same. */
static uint32_t
current_fiber(struct waiter_search *search, uint32_t thread)
{
    uint32_t fiber = graph_field_target(search->graph, thread, "current fiber");

    if (!fiber || graph_part(search->waiters, search->graph, fiber) != GRAPH_FIBER_PART) return 0;
    return first_seen(search, fiber) ? fiber : 0;
}

/* A thread that the VM keeps alive. */
static bool
look_at_thread(struct waiter_search *search, uint32_t thread)
{
    const struct graph *graph = search->graph;
    struct graph_waiters *waiters = search->waiters;
    uint32_t fiber = current_fiber(search, thread);
    struct graph_waiter waiter = {.object = thread, .stack = fiber ? fiber : thread};

    if (main_p(graph, thread) || strcmp(state_of(graph, thread), "sleeps for ever")) {
        return add_running(waiters, thread);
    }
    if (!add_all_awaited(search, thread, &waiter)) return false;
    if (fiber && !add_all_awaited(search, fiber, &waiter)) return false;
    find_where(graph, &waiter);
    if (waiter.awaited) return add_waiter(waiters, &waiter);
    if (stopped_p(graph, waiter.stack)) {
        return add_wake(waiters, thread, false) && add_waiter(waiters, &waiter);
    }
    waiters->unnamed++;
    return add_running(waiters, thread);
}

static bool
look_at_fiber(struct waiter_search *search, uint32_t fiber)
{
    const struct graph *graph = search->graph;
    uint32_t awaited = graph_field_target(graph, fiber, "waits for");
    struct graph_waiter waiter = {.object = fiber, .stack = fiber, .fiber = true};

    if (!awaited || strcmp(state_of(graph, fiber), "suspended")) return true;
    if (graph_part(search->waiters, graph, awaited) == GRAPH_QUEUE_PART &&
        filled_p(graph, awaited)) return true;
    if (!add_all_awaited(search, fiber, &waiter)) return false;
    find_where(graph, &waiter);
    return add_waiter(search->waiters, &waiter);
}

/* Looks at the threads of a Ractor: those that the VM keeps alive. */
static bool
look_at_ractor(struct waiter_search *search, uint32_t ractor)
{
    const struct graph *graph = search->graph;

    for (uint32_t i = graph->first[ractor]; i < graph->first[ractor + 1]; i++) {
        uint32_t thread = graph->targets[i];
        if (graph_part(search->waiters, graph, thread) == GRAPH_THREAD_PART &&
            graph_field_named_p(graph, graph->labels[i], "thread") && first_seen(search, thread) &&
            !look_at_thread(search, thread)) return false;
    }
    return true;
}

/* Threads come before fibers: what a thread runs is no fiber that waits by itself. */
static bool
look_at_all(struct waiter_search *search)
{
    const struct graph *graph = search->graph;

    for (uint32_t object = 1; object <= graph->count; object++) {
        if (graph_part(search->waiters, graph, object) == GRAPH_RACTOR_PART &&
            !look_at_ractor(search, object)) return false;
    }
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (graph_part(search->waiters, graph, object) == GRAPH_FIBER_PART &&
            first_seen(search, object) &&
            !look_at_fiber(search, object)) return false;
    }
    return true;
}

static int
compare_wakes(const void *one, const void *other)
{
    const struct graph_wake *a = one, *b = other;

    if (a->object != b->object) return (a->object > b->object) - (a->object < b->object);
    return (a->waiter > b->waiter) - (a->waiter < b->waiter);
}

bool
graph_waiters_find(struct graph_waiters *waiters, struct graph *graph)
{
    struct waiter_search search = {.graph = graph, .waiters = waiters};
    uint32_t layouts = graph->names.layout_count;
    bool room;

    *waiters = (struct graph_waiters){.space = &graph->space};
    if (!GROW(waiters, parts, layouts)) return false;
    for (uint32_t i = 0; i < layouts; i++) {
        waiters->parts[i] = part_of_type(graph_string(&graph->names, graph->names.layouts[i].type));
    }
    room = GRAPH_SPACE_GROW(search.waiters->space, search.seen, search.seen_capacity,
                            (size_t)graph->count + 1) &&
           look_at_all(&search);
    GRAPH_SPACE_RELEASE(search.waiters->space, search.seen, search.seen_capacity);
    if (!room) return false;
    if (waiters->wake_count) {
        qsort(waiters->wakes, waiters->wake_count, sizeof(*waiters->wakes), compare_wakes);
    }
    return true;
}

void
graph_waiters_free(struct graph_waiters *waiters)
{
    GRAPH_SPACE_RELEASE(waiters->space, waiters->parts, waiters->parts_capacity);
    GRAPH_SPACE_RELEASE(waiters->space, waiters->all, waiters->all_capacity);
    GRAPH_SPACE_RELEASE(waiters->space, waiters->wakes, waiters->wakes_capacity);
    GRAPH_SPACE_RELEASE(waiters->space, waiters->running, waiters->running_capacity);
}
