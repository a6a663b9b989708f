/* host.c - goes through /proc. Only the memory of a process tells whether it is a Ruby. To search
 * it takes a millisecond, so what was found is kept as long as /proc/PID/stat shows no change that
 * could make it wrong. A process becomes a Ruby by exec, or by loading libruby, which its address
 * space has to grow for. Whether a Ruby is profiled is read each time. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* process_vm_readv */
#endif
#include "attach/host.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attach/vm.h"
#include "base/array.h"

enum { PROCESSES_MOST = 65536, LINE_MAX_BYTES = 4096 };

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

/* Reads fields 22, 23, 26 and 28 of stat (proc(5)) into the start, the bytes and the image of a
 * process. Returns false if it has ended, or has no address space. */
static bool
read_stat(pid_t pid, struct attach_host_process *process)
{
    char stat[1024];
    unsigned long long start, bytes, code, stack;

    read_file(pid, "stat", stat, sizeof(stat));
    const char *at = strrchr(stat, ')'); /* a name may have any bytes in it */
    if (!at || !strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3)) return false;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (!at || sscanf(at, " %llu %llu %*d %*u %llu %*u %llu", &start, &bytes, &code, &stack) != 4)
        return false;
    *process = (struct attach_host_process){
        .pid = pid, .start = start, .bytes = bytes, .image = { code, stack }
    };
    return start && bytes;
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

/* ---- what it is called ---- */

/* Keeps the last part of a path. A title may have a colon behind its first word. */
static void
keep_program(struct attach_host_process *process, const char *word, size_t length)
{
    for (size_t i = length; i-- > 0; ) {
        if (word[i] != '/') continue;
        word += i + 1;
        length -= i + 1;
        break;
    }
    while (length > 0 && word[length - 1] == ':') length--;
    snprintf(process->program, sizeof(process->program), "%.*s", (int)length, word);
}

/* "ruby", "ruby3.4", "ruby-3.4.9" */
static bool
interpreter_p(const char *name)
{
    return !strncmp(name, "ruby", 4) && !isalpha((unsigned char)name[4]);
}

/* Finds the script among the arguments of ruby: the first that is neither an option nor the value
 * of one. With -e there is none. */
static void
find_script(struct attach_host_process *process, const char *at, const char *end)
{
    for (bool value = false; at < end; at += strlen(at) + 1) {
        if (value) value = false;
        else if (!strncmp(at, "-e", 2)) return;
        else if (at[0] == '-') value = at[1] && strchr("IrCEX", at[1]) && !at[2];
        else {
            keep_program(process, at, strlen(at));
            return;
        }
    }
}

/* A program that gives itself a title writes it over its arguments. */
static void
find_program(struct attach_host_process *process, const char *line, size_t length)
{
    keep_program(process, line, strcspn(line, " "));
    if (!interpreter_p(process->program) || line[strcspn(line, " ")]) return;
    find_script(process, line + strlen(line) + 1, line + length);
}

void
attach_host_read_names(struct attach_host_process *process)
{
    char line[LINE_MAX_BYTES];
    size_t length = read_file(process->pid, "cmdline", line, sizeof(line));

    while (length > 0 && (line[length - 1] == 0 || line[length - 1] == ' ')) line[--length] = 0;
    process->program[0] = 0;
    if (length) find_program(process, line, length);
    for (size_t i = 0; i < length; i++) {
        if (!line[i]) line[i] = ' ';
    }
    snprintf(process->title, sizeof(process->title), "%.*s", (int)sizeof(process->title) - 1, line);
    read_file(process->pid, "comm", process->name, sizeof(process->name));
    process->name[strcspn(process->name, "\n")] = 0;
    process->container[0] = 0;
    read_container(process);
}

bool
attach_host_called_p(const struct attach_host_process *process, const char *name)
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    size_t length = strlen(last);

    if (!*last) return false;
    if (!strcmp(process->name, last) || !strcmp(process->title, name)) return true;
    return !strncmp(process->program, last, length) &&
           (!process->program[length] || !strcmp(process->program + length, ".rb"));
}

bool
attach_host_looks_like_ruby_p(const struct attach_host_process *process)
{
    size_t length = strcspn(process->title, " ");
    const char *slash = memrchr(process->title, '/', length);

    return interpreter_p(process->name) || interpreter_p(slash ? slash + 1 : process->title);
}

/* ---- what it is ---- */

/* Searches the memory of a process. */
static void
search(struct attach_host_process *process)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_target *target = attach_target_open_pid(process->pid, error);
    struct attach_vm *vm = target ? attach_vm_open(target, error) : NULL;
    struct attach_global on;

    process->refused = !target;
    process->ruby = vm != NULL;
    process->on_at = vm && attach_layout_global(vm->layout, "rb_heapprof_on", &on) && on.size == 1
                         ? on.address : 0;
    attach_vm_close(vm);
    attach_target_close(target);
}

static bool
profiled_p(const struct attach_host_process *process)
{
    unsigned char on = 0;
    const struct iovec to = { &on, 1 };
    const struct iovec from = { (void *)(uintptr_t)process->on_at, 1 };

    return process->on_at && process_vm_readv(process->pid, &to, 1, &from, 1, 0) == 1 && on;
}

/* Whether what was found out about the old process holds for the new one. */
static bool
same_p(const struct attach_host_process *old, const struct attach_host_process *new)
{
    return old->start == new->start && old->image[0] == new->image[0] &&
           old->image[1] == new->image[1] && (old->ruby || old->bytes == new->bytes);
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
    struct attach_host_process now;
    if (pid == getpid() || !read_stat(pid, &now)) return true;
    struct attach_host_process *process = find(host, pid);
    if (!process) return false;

    if (same_p(process, &now)) {
        now.ruby = process->ruby;
        now.refused = process->refused;
        now.on_at = process->on_at;
    }
    else search(&now);
    now.seen = true;
    now.profiled = profiled_p(&now);
    if (now.ruby) attach_host_read_names(&now);
    *process = now;
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
attach_host_each(bool (*process_i)(pid_t pid, void *data), void *data)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    bool goes_on = directory != NULL;

    while (goes_on && (entry = readdir(directory))) {
        if (isdigit((unsigned char)entry->d_name[0]))
            goes_on = process_i((pid_t)strtol(entry->d_name, NULL, 10), data);
    }
    if (directory) closedir(directory);
    return goes_on;
}

static bool
list_i(pid_t pid, void *data)
{
    return list_one(data, pid);
}

bool
attach_host_list(struct attach_host *host)
{
    for (size_t i = 0; i < host->count; i++) host->all[i].seen = false;
    bool room = attach_host_each(list_i, host);
    forget_unseen(host);
    return room;
}

void
attach_host_free(struct attach_host *host)
{
    free(host->all);
    *host = (struct attach_host){0};
}
