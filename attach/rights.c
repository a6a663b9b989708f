/* rights.c - decides which process may read which: by the rules of ptrace (ptrace(2), "Ptrace
 * access mode checking"), by Yama's kernel.yama.ptrace_scope, and by containers, which withhold
 * CAP_SYS_PTRACE. For us the kernel applies these rules. `heapprof serve` reads on behalf of other
 * users: for them we have to apply the rules ourselves. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include "attach/rights.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/status.h"

#define CONTAINER "in a container, start it with --cap-add=SYS_PTRACE"

#define CAPABILITY(number) (UINT64_C(1) << (number))
#define KEPT \
    (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_DAC_OVERRIDE))

typedef struct __user_cap_header_struct capability_header;
typedef struct __user_cap_data_struct capability_data;

/* ---- what is missing ---- */

/* The first number behind a line's name in a file of that form. Without a name, the first number of
 * the file. -1 if it is unknown. */
static long
number_in(const char *path, const char *name)
{
    FILE *file = fopen(path, "re");
    char line[256];
    long number = -1;

    while (file && number < 0 && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) != 0) continue;
        if (sscanf(line + strlen(name), " %ld", &number) != 1) break;
    }
    if (file) fclose(file);
    return number;
}

static bool
may_trace_all_p(void)
{
    capability_header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    capability_data data[2] = {{0}};

    if (syscall(SYS_capget, &header, data) != 0) return false;
    return data[0].effective >> CAP_SYS_PTRACE & 1;
}

void
attach_rights_explain(const struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX])
{
    char status[32];
    long scope = number_in("/proc/sys/kernel/yama/ptrace_scope", ""), ours = (long)geteuid();

    snprintf(status, sizeof(status), "/proc/%d/status", (int)target->pid);
    long theirs = number_in(status, "Uid:");
    if (scope == 3) {
        attach_target_say(target, error,
                          "not permitted: kernel.yama.ptrace_scope is 3, so that nobody may"
                          " read a process until the machine is restarted with a lower value");
    }
    else if (may_trace_all_p()) {
        attach_target_say(target, error,
                          "not permitted, though heapprof has CAP_SYS_PTRACE: the process is in a"
                          " user namespace outside of heapprof's, or a security module forbids it");
    }
    else if (ours == 0) {
        attach_target_say(target, error, "not permitted: root without CAP_SYS_PTRACE; " CONTAINER);
    }
    else if (theirs != ours) {
        attach_target_say(
            target, error,
            "not permitted: it belongs to user %ld, and heapprof runs as user %ld; run"
            " heapprof as that user or as root",
            theirs, ours);
    }
    else if (scope == 2) {
        attach_target_say(
            target, error,
            "not permitted: kernel.yama.ptrace_scope is 2; run heapprof as root; " CONTAINER);
    }
    else if (scope == 1) {
        attach_target_say(
            target, error,
            "not permitted: kernel.yama.ptrace_scope is 1, so that only its parent may"
            " read it; run heapprof as root, or start the program by heapprof"
            " record; " CONTAINER);
    }
    else {
        attach_target_say(
            target, error,
            "not permitted: it does not let itself be read (it is not dumpable, or was"
            " started with more rights than heapprof); run heapprof as root; " CONTAINER);
    }
}

/* ---- for others ---- */

/* True if the real, effective and saved ids are all that one. */
static bool
all_ids_p(const char *status, const char *name, unsigned id)
{
    const char *line = attach_status_line(status, name);
    unsigned real, effective, saved;

    return line && sscanf(line, "%u %u %u", &real, &effective, &saved) == 3 && real == id &&
           effective == id && saved == id;
}

static unsigned long long
permitted_capabilities(const char *status, unsigned long long otherwise)
{
    const char *line = attach_status_line(status, "\nCapPrm:");
    unsigned long long set;

    return line && sscanf(line, "%llx", &set) == 1 ? set : otherwise;
}

/* The files of a process that is not dumpable belong to root. */
static bool
dumpable_p(pid_t pid, uid_t uid)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == uid;
}

static bool
same_user_namespace_p(pid_t one, pid_t other)
{
    char path[64];
    struct stat first, second;

    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)one);
    if (stat(path, &first) != 0) return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)other);
    return stat(path, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

bool
attach_rights_of_peer(const struct attach_peer *peer, pid_t pid,
                      char error[ATTACH_TARGET_ERROR_MAX])
{
    char theirs[ATTACH_STATUS_MAX], ours[ATTACH_STATUS_MAX];
    const char *why = NULL;

    if (peer->uid == 0) return true;
    if (!attach_status_read(pid, pid, theirs)) why = "there is no such process";
    else if (!all_ids_p(theirs, "\nUid:", peer->uid)) why = "it is another user's";
    else if (number_in("/proc/sys/kernel/yama/ptrace_scope", "") > 0)
        why = "kernel.yama.ptrace_scope is not 0";
    else if (!all_ids_p(theirs, "\nGid:", peer->gid)) why = "it is of another group";
    else if (!attach_status_read(peer->pid, peer->pid, ours)) why = "the client is gone";
    else if (permitted_capabilities(theirs, ~0ull) & ~permitted_capabilities(ours, 0))
        why = "it has more capabilities";
    else if (!same_user_namespace_p(pid, peer->pid)) why = "it is in another user namespace";
    else if (!dumpable_p(pid, peer->uid)) why = "it is not dumpable";
    if (!why) return true;
    snprintf(error, ATTACH_TARGET_ERROR_MAX,
             "process %d: not permitted to user %u: %s; ask as root, or with HEAPPROF_TOKEN",
             (int)pid, (unsigned)peer->uid, why);
    return false;
}

/* ---- giving up ---- */

/* A capability that is not permitted cannot be kept. A capability that is not kept cannot be had
 * again. */
static void
drop_capabilities(uint64_t kept)
{
    capability_header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    capability_data data[2] = {{0}};

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &header, data) != 0) return;
    for (int half = 0; half < 2; half++) {
        data[half].permitted &= (uint32_t)(kept >> 32 * half);
        data[half].effective &= (uint32_t)(kept >> 32 * half);
        data[half].inheritable = 0;
    }
    syscall(SYS_capset, &header, data);
}

void
attach_rights_drop(enum attach_rights_kept kept)
{
    static const uint64_t also[] = {
        [ATTACH_RIGHTS_SIGNAL] = CAPABILITY(CAP_KILL),
        [ATTACH_RIGHTS_ALARMS] = CAPABILITY(CAP_PERFMON),
    };

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    drop_capabilities(KEPT | also[kept]);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the last: capset may change it */
}
