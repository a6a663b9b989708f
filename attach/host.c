/* host.c - goes through /proc. Only the memory of a process tells whether it is a Ruby. So every
 * listing reads every process: it may have become a Ruby by exec, or have begun to be profiled. */
#include "attach/host.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/vm.h"
#include "base/array.h"

enum { PROCESSES_MOST = 65536 };

/* Reads at most size - 1 bytes of a file of a process, and appends a NUL. */
static size_t
read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t length = 0;
    ssize_t got;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    if (fd >= 0) close(fd);
    text[length] = 0;
    return length;
}

/* Field 22 of stat (proc(5)). 0 if the process has ended, or has no address space. */
static uint64_t
start_of(pid_t pid)
{
    char stat[1024];
    unsigned long long start;

    read_file(pid, "stat", stat, sizeof(stat));
    const char *at = strrchr(stat, ')'); /* a name may have any bytes in it */
    if (!at || !strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3)) return 0;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at && sscanf(at, " %llu", &start) == 1 ? start : 0;
}

/* Container runtimes name a container by 64 hexadecimal digits: the last ones on a line of
 * cgroup. */
static void
read_container(struct attach_host_process *process)
{
    char text[4096];

    read_file(process->pid, "cgroup", text, sizeof(text));
    for (const char *at = text; *at; at++) {
        size_t length = strspn(at, "0123456789abcdef");
        if (length == 64) snprintf(process->container, sizeof(process->container), "%.64s", at);
        if (length) at += length - 1;
    }
}

static void
read_names(struct attach_host_process *process)
{
    size_t length = read_file(process->pid, "cmdline", process->title, sizeof(process->title));

    while (length > 0 && (process->title[length - 1] == 0 || process->title[length - 1] == ' '))
        process->title[--length] = 0;
    for (size_t i = 0; i < length; i++) {
        if (!process->title[i]) process->title[i] = ' ';
    }
    read_file(process->pid, "comm", process->name, sizeof(process->name));
    process->name[strcspn(process->name, "\n")] = 0;
    read_container(process);
}

static void
ask_memory(struct attach_host_process *process)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_target *target = attach_target_open_pid(process->pid, error);
    struct attach_vm *vm = target ? attach_vm_open(target, error) : NULL;
    struct attach_global on;
    uint64_t value = 0;

    process->ruby = vm != NULL;
    process->profiled = vm && attach_layout_global(vm->layout, "rb_heapprof_on", &on) &&
                        attach_global_read(target, &on, &value) && value;
    attach_vm_close(vm);
    attach_target_close(target);
}

static struct attach_host_process *
find(struct attach_host *host, pid_t pid)
{
    for (size_t i = 0; i < host->count; i++) {
        if (host->all[i].pid == pid) return &host->all[i];
    }
    if (host->count == PROCESSES_MOST) return NULL;
    if (!HEAPPROF_ARRAY_GROW(host->all, host->capacity, host->count + 1)) return NULL;
    host->all[host->count] = (struct attach_host_process){.pid = pid};
    return &host->all[host->count++];
}

static bool
list_one(struct attach_host *host, pid_t pid)
{
    uint64_t start = start_of(pid);
    if (!start || pid == getpid()) return true;
    struct attach_host_process *process = find(host, pid);
    if (!process) return false;

    if (process->start != start)
        *process = (struct attach_host_process){ .pid = pid, .start = start };
    process->seen = true;
    ask_memory(process);
    if (process->ruby) read_names(process);
    return true;
}

static void
forget_unseen(struct attach_host *host)
{
    size_t kept = 0;

    for (size_t i = 0; i < host->count; i++) {
        if (host->all[i].seen) host->all[kept++] = host->all[i];
    }
    host->count = kept;
}

bool
attach_host_list(struct attach_host *host)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    bool room = directory != NULL;

    for (size_t i = 0; i < host->count; i++) host->all[i].seen = false;
    while (room && (entry = readdir(directory))) {
        if (isdigit((unsigned char)entry->d_name[0]))
            room = list_one(host, (pid_t)strtol(entry->d_name, NULL, 10));
    }
    if (directory) closedir(directory);
    forget_unseen(host);
    return room;
}

void
attach_host_free(struct attach_host *host)
{
    free(host->all);
    *host = (struct attach_host){0};
}
