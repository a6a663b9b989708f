/* process.c - a process that runs, as a target.
 *
 * A pid may belong to another process a moment later. So each open descriptor belongs to one
 * process or to one address space, whatever becomes of the number:
 *
 *     proc    the directory /proc/PID     of the process: ESRCH when it has ended
 *     memory  /proc/PID/mem               of the address space: reads 0 bytes after exec or the end
 *     end_fd  a pidfd                     to wait for the end
 *
 * Only process_vm_readv takes the number, because only it can read many ranges at once. What it has
 * read counts if `memory` is still there afterwards (attach_target_state).
 *
 *   I1  The target is written to only by process_write, through a descriptor of its address space.
 *   I2  Between vfork and exec a process shares its memory with its parent. `memory` cannot tell
 *       the two apart. So the process's flags are asked, too.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* process_vm_readv, O_PATH */
#endif
#include "attach/target.h"
#include "attach/rights.h"
#include "attach/status.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RANGES_AT_ONCE 1024 /* IOV_MAX */
#define FORKED_NOT_EXECED 0x40 /* PF_FORKNOEXEC among the flags in /proc/PID/stat */
#define KERNEL_THREAD 0x200000 /* PF_KTHREAD */
#define EXITING 0x4            /* PF_EXITING */
#define REPLACED_TRIES 8
#ifndef KCMP_VM
# define KCMP_VM 1
#endif

struct process {
    int  proc, memory;
    int  writer;         /* /proc/PID/mem to write to; -1: not open */
    bool no_readv;       /* process_vm_readv is forbidden here (seccomp), or not there */
    bool shares_memory;  /* I2 */
    bool other_pids;     /* it is in a pid namespace of its own */
};

/* ---- /proc ---- */

/* Reads a small file of /proc/PID, and appends a NUL. Returns false if the process has ended, or
 * the file may not be read (errno). */
static bool
read_file(int proc, const char *name, char *text, size_t size)
{
    int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
    size_t used = 0;

    text[0] = '\0';
    if (fd < 0) return false;
    while (used < size - 1) {
        ssize_t got = read(fd, text + used, size - 1 - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    text[used] = '\0';
    close(fd);
    if (used == 0) errno = ESRCH;
    return used > 0;
}

struct stat_line {
    char         state;  /* 'R', 'Z', ... */
    int          parent;
    unsigned int flags;
    unsigned long long start; /* when it began, in ticks since the machine did */
};

/* Reads fields of stat. The name before them may have any character. Returns false if the process
 * has ended and been waited for, or on failure (errno). */
static bool
read_stat(int proc, struct stat_line *line)
{
    char text[1024];

    if (!read_file(proc, "stat", text, sizeof(text))) return false;
    const char *behind = strrchr(text, ')');
    return behind &&
           sscanf(behind + 1,
                  " %c %d %*d %*d %*d %*d %u %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %llu",
                  &line->state, &line->parent, &line->flags, &line->start) == 4;
}

static bool
ended_p(const struct stat_line *line)
{
    return line->state == 'Z' || line->state == 'X';
}

/* Errors of the reader: they say nothing about the process. */
static bool
want_p(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* I2. Without kcmp the process counts as one that may share its memory. */
static void
compare_memory(struct attach_target *target)
{
    struct process *process = target->data;
    struct stat_line line;
    long compared = 1; /* 0: the same; -1: not known */

    if (read_stat(process->proc, &line) && line.flags & FORKED_NOT_EXECED) {
#ifdef SYS_kcmp
        compared = syscall(SYS_kcmp, (long)target->pid, (long)line.parent, (long)KCMP_VM, 0L, 0L);
#else
        compared = -1;
#endif
    }
    process->shares_memory = compared <= 0;
    target->borrows = compared == 0;
}

static bool
other_pid_namespace_p(int proc)
{
    struct stat ours, theirs;

    if (stat("/proc/self/ns/pid", &ours) != 0 || fstatat(proc, "ns/pid", &theirs, 0) != 0)
        return false;
    return ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev;
}

/* ---- reading ---- */

static bool
read_memory(const struct process *process, const struct attach_range *range)
{
    size_t done = 0;

    while (done < range->bytes) {
        uint64_t address = range->address + done;
        if (address > INT64_MAX) return false;
        ssize_t got =
            pread(process->memory, (char *)range->to + done, range->bytes - done, (off_t)address);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

/* /proc/PID/mem can read pages that are protected against reading. MRI protects heap pages while it
 * compacts. */
static bool
read_each(const struct process *process, const struct attach_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!read_memory(process, &ranges[i])) return false;
    }
    return true;
}

static bool
read_at_once(struct attach_target *target, const struct attach_range *ranges, size_t count)
{
    struct process *process = target->data;
    struct iovec ours[RANGES_AT_ONCE], theirs[RANGES_AT_ONCE];
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (ranges[i].address > UINTPTR_MAX) return false;
        ours[i] = (struct iovec){ .iov_base = ranges[i].to, .iov_len = ranges[i].bytes };
        theirs[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)ranges[i].address,
                                     .iov_len = ranges[i].bytes };
        bytes += ranges[i].bytes;
    }
    ssize_t got = process_vm_readv(target->pid, ours, count, theirs, count, 0);
    if (got == (ssize_t)bytes) return true;
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) process->no_readv = true;
    return read_each(process, ranges, count);
}

static bool
process_read(struct attach_target *target, const struct attach_range *ranges, size_t count)
{
    const struct process *process = target->data;

    while (count > 0) {
        size_t here = count < RANGES_AT_ONCE ? count : RANGES_AT_ONCE;
        bool done = process->no_readv ? read_each(process, ranges, here)
                                      : read_at_once(target, ranges, here);
        if (!done) return false;
        ranges += here;
        count -= here;
    }
    return true;
}

/* ---- whether it is the same ---- */

/* Reading at address 0 fails with an error if there is an address space. If it was given up,
 * reading returns 0 bytes. */
static bool
memory_there_p(const struct process *process)
{
    char byte;
    return pread(process->memory, &byte, 1, 0) != 0;
}

/* The first thread may end before the address space: then other threads live on. */
static enum attach_target_state
process_state(struct attach_target *target)
{
    const struct process *process = target->data;
    struct stat_line line;
    bool there = memory_there_p(process);

    if (there && !process->shares_memory) return ATTACH_TARGET_SAME;
    if (!read_stat(process->proc, &line)) return ATTACH_TARGET_ENDED;
    if (there) return line.flags & FORKED_NOT_EXECED ? ATTACH_TARGET_SAME : ATTACH_TARGET_REPLACED;
    return line.flags & EXITING || line.state == 'Z' ? ATTACH_TARGET_ENDED : ATTACH_TARGET_REPLACED;
}

/* ---- mappings ---- */

/* "00400000-0048a000 r-xp 00000000 fd:03 960637    /bin/ruby" */
static bool
add_line(struct attach_target *target, char *line)
{
    unsigned long long start, end, offset;
    char rights[5];
    int path = 0;

    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, rights, &offset, &path) < 4)
        return true;
    struct attach_mapping mapping = {
        .start = start, .end = end, .offset = offset,
        .readable = rights[0] == 'r', .writable = rights[1] == 'w', .executable = rights[2] == 'x'
    };
    line[strcspn(line, "\n")] = '\0';
    return attach_target_add_mapping(target, mapping, path ? line + path : "");
}

static bool
list_mappings(struct attach_target *target, int proc)
{
    int fd = openat(proc, "maps", O_RDONLY | O_CLOEXEC);
    FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
    char *line = NULL;
    size_t capacity = 0;
    bool room = true;

    if (!maps) {
        if (fd >= 0) close(fd);
        return false;
    }
    attach_target_forget_mappings(target);
    while (room && getline(&line, &capacity, maps) > 0) room = add_line(target, line);
    free(line);
    fclose(maps);
    if (!room) errno = ENOMEM;
    return room;
}

/* `memory` stays open: if it is still there afterwards, the mappings are of its address space. */
static bool
process_remap(struct attach_target *target)
{
    const struct process *process = target->data;

    return list_mappings(target, process->proc) && process_state(target) == ATTACH_TARGET_SAME;
}

static bool
open_memory(struct process *process)
{
    int fd = openat(process->proc, "mem", O_RDONLY | O_CLOEXEC);

    if (fd < 0) return false;
    if (process->memory >= 0) close(process->memory);
    process->memory = fd;
    return true;
}

static bool
refuse(struct attach_target *target, char *error)
{
    struct process *process = target->data;
    struct stat_line line;
    int why = errno;

    if (want_p(why)) attach_target_say(target, error, "%s", strerror(why));
    else if (why == ESRCH || !read_stat(process->proc, &line) || ended_p(&line)) {
        attach_target_say(target, error, "it has ended");
    }
    else if (why == EACCES || why == EPERM) attach_rights_explain(target, error);
    else attach_target_say(target, error, "%s", strerror(why));
    return false;
}

/* The mappings belong to the address space if it was there before and after reading them. */
static bool
process_refresh(struct attach_target *target, char *error)
{
    struct process *process = target->data;

    if (process->writer >= 0) close(process->writer);
    process->writer = -1;
    for (int tries = 0; tries < REPLACED_TRIES; tries++) {
        compare_memory(target);
        if (!open_memory(process) || !list_mappings(target, process->proc))
            return refuse(target, error);
        if (process_state(target) != ATTACH_TARGET_REPLACED) break;
    }
    if (target->mapping_count > 0) return true;
    attach_target_say(target, error, "it has ended");
    return false;
}

/* ---- threads ---- */

static pid_t
inner_tid(int proc, pid_t tid)
{
    char name[64], status[ATTACH_STATUS_MAX];

    snprintf(name, sizeof(name), "task/%d/status", (int)tid);
    return read_file(proc, name, status, sizeof(status)) ? attach_status_inner(status, tid) : tid;
}

static bool
process_list_threads(struct attach_target *target)
{
    struct process *process = target->data;
    int fd = openat(process->proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    bool room = true;

    if (!tasks) {
        if (fd >= 0) close(fd);
        return false;
    }
    for (struct dirent *entry; room && (entry = readdir(tasks));) {
        struct attach_native_thread thread = { .tid = (pid_t)atoi(entry->d_name) };
        if (thread.tid <= 0) continue;
        thread.inner_tid = process->other_pids ? inner_tid(process->proc, thread.tid) : thread.tid;
        room = attach_target_add_thread(target, thread);
    }
    closedir(tasks);
    return target->thread_count > 0;
}

/* Fails for a thread that does not stand still. */
static bool
process_registers(struct attach_target *target, pid_t tid, void *words, size_t bytes)
{
    struct iovec part = { .iov_base = words, .iov_len = bytes };

    (void)target;
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &part) == 0 && part.iov_len == bytes;
}

/* ---- writing ---- */

/* The descriptor is of the address space that `memory` is of, if that is still there afterwards. */
static bool
open_writer(struct attach_target *target)
{
    struct process *process = target->data;

    if (process->writer >= 0) return true;
    process->writer = openat(process->proc, "mem", O_WRONLY | O_CLOEXEC);
    if (process->writer < 0) return false;
    if (process_state(target) == ATTACH_TARGET_SAME) return true;
    close(process->writer);
    process->writer = -1;
    errno = ESRCH;
    return false;
}

static bool
process_write(struct attach_target *target, uint64_t address, const void *bytes, size_t count)
{
    struct process *process = target->data;

    if (!open_writer(target)) return false;
    ssize_t written = pwrite(process->writer, bytes, count, (off_t)address);
    if (written >= 0 && (size_t)written != count) errno = ESRCH;
    return written == (ssize_t)count;
}

/* ---- opening ---- */

static void
process_close(struct attach_target *target)
{
    struct process *process = target->data;

    if (process->proc >= 0) close(process->proc);
    if (process->memory >= 0) close(process->memory);
    if (process->writer >= 0) close(process->writer);
    if (target->end_fd >= 0) close(target->end_fd);
    free(process);
}

static const struct attach_target_kind process_kind = {
    process_read, process_refresh, process_list_threads, process_state, process_close,
    process_registers, process_remap, process_write
};

/* A thread's number leads to a directory, too, although /proc does not list it. Returns -1 on
 * failure (errno). */
static int
leader_p(int proc, pid_t pid)
{
    char text[4096];
    int leader;

    if (!read_file(proc, "status", text, sizeof(text))) return -1;
    const char *line = strstr(text, "\nTgid:");
    return line && sscanf(line, "\nTgid: %d", &leader) == 1 && leader == pid;
}

static bool
open_directory(struct attach_target *target, char *error)
{
    struct process *process = target->data;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d", (int)target->pid);
    process->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process->proc >= 0) return true;
    attach_target_say(target, error, "%s", want_p(errno) ? strerror(errno) :
                           access("/proc/self", F_OK) == 0 ? "there is no such process" :
                           "/proc is not mounted here, and nothing can be read without it");
    return false;
}

/* True if it is a process with an address space of its own. */
static bool
process_p(struct attach_target *target, char *error)
{
    struct process *process = target->data;
    struct stat_line line;
    int leader = leader_p(process->proc, target->pid);

    if (leader < 0 || !read_stat(process->proc, &line)) return refuse(target, error);
    target->start = line.start;
    if (ended_p(&line)) attach_target_say(target, error, "it has ended");
    else if (!leader)
        attach_target_say(target, error, "it is a thread of another process, not a process");
    else if (line.flags & KERNEL_THREAD) {
        attach_target_say(target, error,
                          "it is a thread of the kernel, and has no memory of its own");
    }
    else return true;
    return false;
}

static bool
open_process(struct attach_target *target, char *error)
{
    struct process *process = target->data;

    if (!open_directory(target, error) || !process_p(target, error)) return false;
#ifdef SYS_pidfd_open
    target->end_fd = (int)syscall(SYS_pidfd_open, (long)target->pid, 0L);
#endif
    process->other_pids = other_pid_namespace_p(process->proc);
    return attach_target_refresh(target, error);
}

struct attach_target *
attach_target_open_pid(int64_t pid, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct process *process;
    struct attach_target *target;

    if (pid <= 0 || pid > INT_MAX) {
        snprintf(error, ATTACH_TARGET_ERROR_MAX, "process %lld: there is no such process",
                 (long long)pid);
        return NULL;
    }
    process = calloc(1, sizeof(*process));
    target = process ? attach_target_new(&process_kind, process) : NULL;
    if (!target) {
        free(process);
        snprintf(error, ATTACH_TARGET_ERROR_MAX, "process %lld: no memory", (long long)pid);
        return NULL;
    }
    *process = (struct process){ .proc = -1, .memory = -1, .writer = -1 };
    target->runs = true;
    target->pid = (pid_t)pid;
    snprintf(target->name, sizeof(target->name), "process %d", (int)pid);
    if (open_process(target, error)) return target;
    attach_target_close(target);
    return NULL;
}
