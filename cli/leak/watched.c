/* watched.c - starts, dumps and stops the processes that are watched.
 *
 *   I1  What we have started is stopped, unless the process has ended. If we are killed, it stops
 *       by itself (for_ms).
 *   I2  If one process fails, the others are still watched. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* ppoll */
#endif
#include "cli/interrupt.h"
#include "cli/leak/watched.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/forks.h"
#include "attach/heap.h"
#include "attach/host.h"
#include "attach/label_sets.h"
#include "attach/origin.h"
#include "cli/live/attach.h"
#include "cli/live/dumped.h"
#include "os/clock.h"
#include "report/text.h"

#define SECOND_NS INT64_C(1000000000)

/* Close enough for a leak of a minute, and fewer samples as the heap grows. Where the memory of C
 * cannot be sampled, that of Ruby is. */
static const char *const settings[] = {"interval=auto,malloc=all", "interval=auto"};

static void
fail(struct cli_watched *one, const char *error)
{
    one->over = true;
    snprintf(one->error, sizeof(one->error), "%s", error);
}

static bool
ended_p(const struct cli_watched *one)
{
    return attach_target_state(one->target) != ATTACH_TARGET_SAME;
}

/* ---- which ---- */

static void
name(struct cli_watched *one)
{
    struct attach_host_process process = {.pid = one->target->pid};

    attach_host_read_names(&process);
    if (process.title[0])
        snprintf(one->name, sizeof(one->name), "%s (%.80s)", one->target->name, process.title);
    else snprintf(one->name, sizeof(one->name), "%s", one->target->name);
}

static bool
watched_p(const struct cli_watch *watch, int64_t pid)
{
    for (size_t i = 0; i < watch->count; i++) if (watch->all[i].target->pid == pid) return true;
    return false;
}

/* Returns false without memory. */
static bool
add(struct cli_watch *watch, struct attach_target *target)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct cli_watched *all = realloc(watch->all, (watch->count + 1) * sizeof(*all));

    if (!all) {
        attach_target_close(target);
        return cli_wrong(watch->cli, "no memory"), false;
    }
    watch->all = all;
    struct cli_watched *one = &all[watch->count++];
    *one = (struct cli_watched){.target = target};
    name(one);
    one->vm = attach_vm_open(target, error);
    if (!one->vm) fail(one, error);
    return true;
}

struct children {
    struct cli_watch *watch;
    pid_t parent;
    bool room;
};

/* Children that are no Ruby, that may not be read, or that are watched already, are left out. */
static bool
add_child_i(pid_t pid, void *data)
{
    struct children *children = data;
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_target *target;

    if (attach_forks_parent(pid) != children->parent || watched_p(children->watch, pid))
        return true;
    target = attach_target_open_pid(pid, error);
    if (!target) return true;
    children->room = add(children->watch, target);
    if (!children->room) return false;
    struct cli_watched *one = &children->watch->all[children->watch->count - 1];
    if (one->over) {
        attach_target_close(one->target);
        children->watch->count--;
    }
    return true;
}

bool
cli_watch_add(struct cli_watch *watch, int64_t pid)
{
    struct children children = {.watch = watch, .parent = (pid_t)pid, .room = true};

    if (!watched_p(watch, pid)) {
        struct attach_target *target = cli_attach_open_pid(watch->cli, pid, CLI_ATTACH_PROCESS);
        if (!target || !add(watch, target)) return false;
        struct cli_watched *one = &watch->all[watch->count - 1];
        if (one->over) return cli_wrong(watch->cli, "%s", one->error), false;
    }
    attach_host_each(add_child_i, &children);
    return children.room;
}

size_t
cli_watch_left(const struct cli_watch *watch)
{
    size_t left = 0;

    for (size_t i = 0; i < watch->count; i++) left += !watch->all[i].over;
    return left;
}

/* ---- waiting ---- */

/* Takes out whoever has ended. Returns how many are left. */
static size_t
keep_running(struct pollfd *ends, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!ends[i].revents) ends[kept++] = ends[i];
    }
    return kept;
}

bool
cli_watch_wait(const struct cli_watch *watch, double seconds)
{
    int64_t end_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9), left_ns;
    struct pollfd *ends = calloc(watch->count + 1, sizeof(*ends));
    size_t count = 0;
    sigset_t mask;

    for (size_t i = 0; ends && i < watch->count; i++) {
        if (!watch->all[i].over)
            ends[count++] = (struct pollfd){.fd = watch->all[i].target->end_fd, .events = POLLIN};
    }
    cli_interrupt_hold(&mask);
    while (count && !cli_interrupted &&
           (left_ns = end_ns - rb_heapprof_clock_ns(CLOCK_MONOTONIC)) > 0) {
        struct timespec left = {.tv_sec = left_ns / SECOND_NS, .tv_nsec = left_ns % SECOND_NS};
        int ready = ppoll(ends, count, &left, &mask);
        if (ready > 0) count = keep_running(ends, count);
    }
    cli_interrupt_release(&mask);
    free(ends);
    return count > 0;
}

/* ---- start, dump, stop ---- */

static void
start(struct cli_watch *watch, struct cli_watched *one)
{
    struct cli_ask ask = {.what = ATTACH_REQUEST_START, .will = "it will be watched",
                          .for_ms = watch->for_ms, .seconds = watch->patience};

    for (size_t i = 0; !one->started && i < sizeof(settings) / sizeof(*settings); i++) {
        ask.text = settings[i];
        one->started = cli_ask(watch->cli, one->vm, &ask);
        if (!one->started && !ask.answer[0]) break; /* the process has not answered at all */
    }
    if (!one->started) fail(one, ask.error);
}

void
cli_watch_start(struct cli_watch *watch)
{
    for (size_t i = 0; i < watch->count && !cli_interrupted; i++) {
        struct cli_watched *one = &watch->all[i];
        if (!one->over && !attach_heap_profiled_p(one->vm)) start(watch, one);
        if (!one->over) attach_label_sets_begun(one->vm, &one->requests_before);
    }
}

uint64_t
cli_watch_requests(struct cli_watch *watch)
{
    uint64_t sum = 0, begun;

    for (size_t i = 0; i < watch->count; i++) {
        struct cli_watched *one = &watch->all[i];
        if (!one->over && attach_label_sets_begun(one->vm, &begun))
            one->requests = begun - one->requests_before;
        sum += one->requests;
    }
    return sum;
}

static void
begin_dump(struct cli_watch *watch, struct cli_watched *one)
{
    struct cli_ask ask = {.seconds = watch->patience};

    if (!one->dumped) one->dumped = malloc(sizeof(*one->dumped));
    if (!one->dumped) fail(one, "no memory");
    else if (!cli_dumped_begin(watch->cli, one->dumped, one->vm, &ask)) fail(one, ask.error);
}

static void
end_dump(struct cli_watch *watch, struct cli_watched *one)
{
    char path[CLI_DUMPED_PATH_MAX];

    if (cli_dumped_wait(watch->cli, one->dumped, watch->patience) != CLI_DONE) {
        fail(one, "");
        return;
    }
    one->asked = !one->dumped->request.signal_number;
    cli_dumped_path(path, &one->dumped->request);
    one->paths[one->count] = strdup(path);
    if (one->paths[one->count]) one->count++;
    else fail(one, "no memory");
}

/* The copies write at the same time. They are waited for on ^C, too: then all files are known. */
void
cli_watch_dump(struct cli_watch *watch)
{
    size_t begun = 0;

    while (begun < watch->count && !cli_interrupted) {
        struct cli_watched *one = &watch->all[begun++];
        if (!one->over) begin_dump(watch, one);
    }
    for (size_t i = 0; i < begun; i++) {
        if (!watch->all[i].over) end_dump(watch, &watch->all[i]);
    }
}

/* Only of a process that was not profiled before: then the blocks are of this time. */
static void
find_blocks(struct cli_watched *one)
{
    char error[ATTACH_TARGET_ERROR_MAX], origin[ATTACH_ORIGIN_TEXT_MAX];
    struct attach_heap_counts counts = {0};
    struct attach_stop *stop = attach_stop_new(one->target->pid);
    struct heapprof_snapshot *snapshot = attach_heap_read(one->vm, stop, &counts, error);

    attach_stop_free(stop);
    if (!snapshot) return;
    attach_origin_text(one->target, origin);
    char *directory = attach_origin_value(origin, "directory");
    cli_leak_blocks_find(&one->blocks, snapshot, directory);
    free(directory);
    rb_heapprof_snapshot_free(snapshot);
}

void
cli_watch_find_blocks(struct cli_watch *watch)
{
    for (size_t i = 0; i < watch->count && !cli_interrupted; i++) {
        if (watch->all[i].started && !watch->all[i].over) find_blocks(&watch->all[i]);
    }
}

void
cli_watch_stop(struct cli_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        struct cli_watched *one = &watch->all[i];
        struct cli_ask ask = {.what = ATTACH_REQUEST_STOP, .text = "", .will = "it will stop",
                              .seconds = watch->patience, .to_the_end = true};
        if (!one->started) continue;
        one->started = false;
        if (ended_p(one) || cli_ask(watch->cli, one->vm, &ask) || ended_p(one)) continue;
        if (attach_heap_profiled_p(one->vm))
            cli_wrong(watch->cli, "%s; its profiler stops by itself in %" PRIu64 " minutes",
                      ask.error, watch->for_ms / 60000 + 1);
        else
            cli_wrong(watch->cli, "%s: somebody else has stopped its profiler meanwhile; which "
                      "lines have allocated what came then is not known", one->target->name);
    }
}

/* ---- the end ---- */

void
cli_watch_remove(struct cli_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        for (size_t j = 0; watch->all[i].asked && j < watch->all[i].count; j++)
            unlink(watch->all[i].paths[j]);
    }
}

void
cli_watch_free(struct cli_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        struct cli_watched *one = &watch->all[i];
        for (size_t j = 0; j < one->count; j++) free(one->paths[j]);
        free(one->dumped);
        attach_vm_close(one->vm);
        attach_target_close(one->target);
    }
    free(watch->all);
}
