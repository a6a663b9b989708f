/* processes.c - opens processes, and follows their children. */
#include "attach/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/host.h"
#include "attach/status.h"
#include "base/array.h"

/* A process is tried TRIES times in a quarter of a second, and then for ten seconds more if another
 * one is looked at meanwhile: on a busy machine a Ruby may take long to start. */
enum { TRIES = 50, TRIES_MOST = 100, GENERATIONS_MOST = 64, PROCESSES_MOST = 4096 };
enum { TRY_NS = 5000000, SLOW_TRY_NS = 200000000, SCAN_NS = 200000000 };

void
attach_processes_init(struct attach_processes *processes, struct attach_names *names,
                      enum attach_look_mode mode, bool children)
{
    *processes = (struct attach_processes){ .names = names, .mode = mode, .children = children,
                                            .forks.fd = -1 };
    if (children) attach_forks_open(&processes->forks, true);
}

static void
add_counts(struct attach_look_counts *sum, const struct attach_look_counts *counts)
{
    sum->looks += counts->looks;
    sum->stacks += counts->stacks;
    sum->torn += counts->torn;
    sum->failed += counts->failed;
    sum->stopped += counts->stopped;
    sum->not_stopped += counts->not_stopped;
}

static void
close_process(struct attach_processes *processes, struct attach_process *process)
{
    if (process->looks) add_counts(&processes->counts, &process->looks->counts);
    attach_look_close(process->looks);
    attach_target_close(process->target);
    process->looks = NULL;
    process->target = NULL;
}

void
attach_processes_free(struct attach_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) close_process(processes, &processes->all[i]);
    attach_forks_close(&processes->forks);
    free(processes->all);
}

void
attach_processes_close(struct attach_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        close_process(processes, &processes->all[i]);
        processes->all[i].try_ns = 0;
    }
    processes->counts = (struct attach_look_counts){ 0 };
    processes->missed = processes->forks.lost = 0;
}

static const struct attach_process *
find(const struct attach_processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->all[i].pid == pid) return &processes->all[i];
    }
    return NULL;
}

bool
attach_processes_add(struct attach_processes *processes, pid_t pid)
{
    if (find(processes, pid)) return true;
    if (!HEAPPROF_ARRAY_GROW(processes->all, processes->capacity, processes->count + 1))
        return false;
    processes->all[processes->count++] = (struct attach_process){.pid = pid};
    return true;
}

/* What an earlier try found out about a process says more than that it has ended since. So does
 * open_looks. */
static bool
open_target(struct attach_processes *processes, struct attach_process *process)
{
    char error[ATTACH_TARGET_ERROR_MAX] = "";

    process->target = attach_target_open_pid(process->pid, error);
    if (process->target && process->start && process->target->start != process->start) {
        attach_target_say(process->target, error, "it has ended");
        close_process(processes, process);
    }
    if (process->target) process->start = process->target->start;
    else if (!process->error[0]) memcpy(process->error, error, sizeof(error));
    return process->target;
}

/* Reads the names of an open process. It may have set its title, as servers do after a fork. */
static void
read_names(struct attach_process *process)
{
    struct attach_host_process now = { .pid = process->pid };

    attach_host_read_names(&now);
    if (!strcmp(process->title, now.title) && !strcmp(process->container, now.container)) return;
    memcpy(process->title, now.title, sizeof(process->title));
    memcpy(process->container, now.container, sizeof(process->container));
    process->renamed = true;
}

/* A process that still has its parent's memory will have its own in a moment. */
static struct attach_looks *
open_looks(struct attach_processes *processes, struct attach_process *process)
{
    char error[ATTACH_TARGET_ERROR_MAX] = "";
    struct attach_looks *looks = NULL;

    if (process->target->borrows) attach_target_say(process->target, error, "it is not a ruby yet");
    else looks = attach_look_open(process->target, processes->names, processes->mode, error);
    if (!looks &&
        (!process->error[0] || attach_target_state(process->target) != ATTACH_TARGET_ENDED))
        memcpy(process->error, error, sizeof(error));
    return looks;
}

static bool
ended_p(pid_t pid)
{
    char status[ATTACH_STATUS_MAX];

    if (!attach_status_read(pid, pid, status)) return true;
    return strchr("ZX", attach_status_state(status));
}

static void
try_open(struct attach_processes *processes, struct attach_process *process)
{
    process->over = !open_target(processes, process);
    if (process->over) {
        processes->missed +=
            process->child && process->tries == 0 && !process->was_open && ended_p(process->pid);
        return;
    }
    process->looks = open_looks(processes, process);
    if (process->looks && attach_look_native(process->looks, processes->native)) {
        process->looks->wanted = processes->wanted;
        process->looks->cpus.alarms = processes->alarms;
        process->was_open = processes->was_open = true;
        process->renamed = true;
        process->tries = 0;
        read_names(process);
    }
    else {
        close_process(processes, process);
        process->tries++;
    }
}

/* True if it executes another file than when it was tried, or if that cannot be known. */
static bool
file_changed_p(struct attach_process *process)
{
    char path[64];
    struct stat file;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
    if (stat(path, &file) != 0) return true;
    if (process->file[0] == file.st_dev && process->file[1] == file.st_ino) return false;
    process->file[0] = file.st_dev;
    process->file[1] = file.st_ino;
    return true;
}

static void
try_again(struct attach_processes *processes, struct attach_process *process, int64_t now_ns)
{
    if (now_ns < process->try_ns) return;
    if (file_changed_p(process) && process->tries > 0) process->tries = 1;
    if (process->tries < TRIES_MOST) try_open(processes, process);
    process->try_ns = now_ns + (process->tries < TRIES ? TRY_NS : SLOW_TRY_NS);
}

/* ---- children ---- */

static void
add_child(struct attach_processes *processes, pid_t pid, pid_t parent)
{
    const struct attach_process *known = find(processes, parent);
    bool child = known ? !known->over : processes->adopter && parent == processes->adopter;

    if (!child || processes->count >= PROCESSES_MOST || find(processes, pid)) return;
    if (attach_processes_add(processes, pid)) processes->all[processes->count - 1].child = true;
}

static bool
scan_i(pid_t pid, void *data)
{
    struct attach_processes *processes = data;

    if (!find(processes, pid)) add_child(processes, pid, attach_forks_parent(pid));
    return processes->count < PROCESSES_MOST;
}

/* Asks each process of the host for its parent. A child may have a smaller number than its parent,
 * and is found the next time round. */
static void
scan_all(struct attach_processes *processes)
{
    size_t before = 0;

    for (int i = 0; i < GENERATIONS_MOST && before != processes->count; i++) {
        before = processes->count;
        attach_host_each(scan_i, processes);
    }
    processes->scanned = true;
}

/* Numbers may be given out in another order, too: a tool that restores processes does that. So
 * without events all processes are asked now and then. */
static void
find_children(struct attach_processes *processes, bool scan)
{
    struct attach_fork fork;
    bool unknown = !processes->scanned || (scan && processes->forks.way != ATTACH_FORKS_EVENTS);

    while (attach_forks_next(&processes->forks, &fork)) {
        if (fork.pid) add_child(processes, fork.pid, fork.parent);
        unknown |= !fork.pid;
    }
    if (unknown) scan_all(processes);
}

/* Of the processes that have ended, only those that the caller added stay. */
static void
forget_children(struct attach_processes *processes)
{
    size_t kept = 0;

    for (size_t i = 0; i < processes->count; i++) {
        const struct attach_process *process = &processes->all[i];
        if (!process->over || !process->child) processes->all[kept++] = *process;
    }
    processes->count = kept;
}

size_t
attach_processes_refresh(struct attach_processes *processes, int64_t now_ns)
{
    bool scan = now_ns >= processes->scan_ns;
    size_t left = 0;

    if (scan) processes->scan_ns = now_ns + SCAN_NS;
    if (processes->children) find_children(processes, scan);
    for (size_t i = 0; i < processes->count; i++) {
        struct attach_process *process = &processes->all[i];
        if (process->looks && scan) read_names(process);
        if (!process->looks && !process->over) try_again(processes, process, now_ns);
        left += !process->over && (process->was_open || process->tries < TRIES);
    }
    forget_children(processes);
    return left;
}

/* After exec a process is opened again. */
bool
attach_processes_look(struct attach_processes *processes, struct attach_process *process)
{
    if (attach_look(process->looks)) return true;

    enum attach_target_state state = attach_target_state(process->target);
    if (state == ATTACH_TARGET_SAME) return false;
    close_process(processes, process);
    process->over = state == ATTACH_TARGET_ENDED;
    process->try_ns = 0;
    return false;
}

struct attach_look_counts
attach_processes_counts(const struct attach_processes *processes)
{
    struct attach_look_counts sum = processes->counts;

    for (size_t i = 0; i < processes->count; i++) {
        if (processes->all[i].looks) add_counts(&sum, &processes->all[i].looks->counts);
    }
    return sum;
}
