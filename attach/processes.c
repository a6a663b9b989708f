/* processes.c - opens processes, and follows their children. */
#include "attach/processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"

enum { TRIES = 50, PROCESSES_MOST = 4096 };

void
attach_processes_init(struct attach_processes *processes, struct attach_names *names,
                      enum attach_look_mode mode, bool children)
{
    *processes = (struct attach_processes){.names = names, .mode = mode, .children = children};
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
    free(processes->all);
}

bool
attach_processes_add(struct attach_processes *processes, pid_t pid)
{
    if (!HEAPPROF_ARRAY_GROW(processes->all, processes->capacity, processes->count + 1))
        return false;
    processes->all[processes->count++] = (struct attach_process){.pid = pid};
    return true;
}

/* What an earlier try found out about a process says more than that it has ended since. */
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

static void
try_open(struct attach_processes *processes, struct attach_process *process)
{
    process->over = !open_target(processes, process);
    if (process->over) return;
    process->looks =
        attach_look_open(process->target, processes->names, processes->mode, process->error);
    if (process->looks) {
        process->looks->with_cpu = processes->with_cpu;
        process->was_open = processes->was_open = true;
        process->tries = 0;
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
try_again(struct attach_processes *processes, struct attach_process *process)
{
    if (file_changed_p(process)) process->tries = 0;
    if (process->tries < TRIES) try_open(processes, process);
}

/* ---- children ---- */

/* The parent of a process, by its stat. 0 if it has none, or has ended. */
static pid_t
parent_of(const char *pid)
{
    char path[64], stat[256];
    int parent;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    size_t got = fread(stat, 1, sizeof(stat) - 1, file);
    fclose(file);
    stat[got] = 0;
    const char *end = strrchr(stat, ')'); /* a name may have any bytes in it */
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static const struct attach_process *
find(const struct attach_processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->all[i].pid == pid) return &processes->all[i];
    }
    return NULL;
}

static void
find_children(struct attach_processes *processes)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;

    if (!directory) return;
    while ((entry = readdir(directory)) && processes->count < PROCESSES_MOST) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || find(processes, pid)) continue;
        const struct attach_process *parent = find(processes, parent_of(entry->d_name));
        if (!parent || parent->over) continue;
        if (attach_processes_add(processes, pid)) processes->all[processes->count - 1].child = true;
    }
    closedir(directory);
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
attach_processes_refresh(struct attach_processes *processes)
{
    size_t left = 0;

    if (processes->children) find_children(processes);
    processes->starting = false;
    for (size_t i = 0; i < processes->count; i++) {
        struct attach_process *process = &processes->all[i];
        if (!process->looks && !process->over) try_again(processes, process);
        bool may = process->tries < TRIES;
        processes->starting |= !process->over && !process->looks && may;
        left += !process->over && (process->was_open || may);
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
