/* confine.c - limits of the kernel, and a filter of system calls (seccomp).
 *
 *     call is in the list ------------------> allowed
 *     openat: flags that write -------------> EPERM, otherwise allowed; with `asks` those that make
 *                                             or empty a file, or also read it
 *     ptrace: a request that only reads ----> allowed, otherwise EPERM
 *     any other call -----------------------> EPERM
 *
 * The filter is a program that the kernel runs for each call. It is made here from the list. */
#include "cli/serve/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define RESULT_BYTES_MOST ((rlim_t)128 << 20)
#define MEMORY_BYTES_MOST ((rlim_t)4 << 30)

/* ---- limits ---- */

static void
limit(int what, rlim_t most)
{
    struct rlimit bounds;

    if (getrlimit(what, &bounds) == 0 && bounds.rlim_max < most) most = bounds.rlim_max;
    bounds = (struct rlimit){most, most};
    setrlimit(what, &bounds);
}

static void
set_limits(const struct cli_confinement *confinement)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, (rlim_t)confinement->descriptors);
    limit(RLIMIT_FSIZE, RESULT_BYTES_MOST);
    limit(RLIMIT_DATA, MEMORY_BYTES_MOST);
    limit(RLIMIT_CPU, (rlim_t)confinement->cpu_seconds);
    signal(SIGXFSZ, SIG_IGN); /* a write fails instead */
}

/* ---- calls ---- */

#if defined(__x86_64__)
# define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
# define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

static const uint16_t calls[] = {
    /* other processes */
    SYS_process_vm_readv, SYS_pidfd_open, SYS_kcmp, SYS_wait4, SYS_waitid, SYS_ppoll,
    /* files */
    SYS_read, SYS_readv, SYS_pread64, SYS_close, SYS_fstat, SYS_newfstatat, SYS_statx,
    SYS_readlinkat, SYS_faccessat, SYS_getdents64, SYS_lseek, SYS_fcntl, SYS_ioctl, SYS_dup,
    SYS_dup3, SYS_memfd_create, SYS_write, SYS_writev, SYS_pwrite64, SYS_ftruncate,
    /* memory */
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_getrandom,
    /* time, signals, itself */
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_timer_create,
    SYS_timer_settime, SYS_timer_delete, SYS_restart_syscall, SYS_sched_yield,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigpending,
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_capget, SYS_uname, SYS_sysinfo, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_getcpu,
    SYS_exit, SYS_exit_group,
# ifdef __x86_64__
    SYS_stat, SYS_lstat, SYS_readlink, SYS_access, SYS_poll, SYS_dup2, SYS_getdents, SYS_time,
    SYS_gettimeofday,
# endif
};

/* What asking a process needs, too. */
static const uint16_t asking[] = { SYS_flock, SYS_pidfd_getfd };

static const uint16_t requests[] = {
    PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_LISTEN, PTRACE_CONT, PTRACE_DETACH, PTRACE_PEEKDATA,
    PTRACE_GETREGSET, PTRACE_GETEVENTMSG, PTRACE_GETSIGINFO,
};

# define COUNT(array) (sizeof(array) / sizeof(*(array)))
# define MAKES (O_RDWR | O_CREAT | O_TRUNC)
# define WRITES (O_WRONLY | MAKES)
# define ARGUMENT(number) \
     ((uint32_t)offsetof(struct seccomp_data, args) + (number) * (uint32_t)sizeof(uint64_t))

struct filter {
    struct sock_filter steps[2 * COUNT(calls) + 2 * COUNT(asking) + 2 * COUNT(requests) + 32];
    unsigned short count;
};

static void
add(struct filter *filter, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    filter->steps[filter->count++] = (struct sock_filter){code, yes, no, k};
}

/* Loads a word of the call. Numbers of calls and flags are in the lower half of theirs. */
static void
load(struct filter *filter, uint32_t offset)
{
    add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

static void
end_with(struct filter *filter, uint32_t action)
{
    add(filter, BPF_RET | BPF_K, 0, 0, action);
}

static void
allow_if_equal(struct filter *filter, uint32_t value)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    end_with(filter, SECCOMP_RET_ALLOW);
}

/* Opening a file without these flags, by a call that has them in that argument. */
static void
allow_to_open(struct filter *filter, uint32_t call, uint32_t flags, uint32_t forbidden)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, call);
    load(filter, ARGUMENT(flags));
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 1, 0, forbidden);
    end_with(filter, SECCOMP_RET_ALLOW);
    end_with(filter, SECCOMP_RET_ERRNO | EPERM);
}

static void
make(struct filter *filter, bool asks)
{
    uint32_t forbidden = asks ? MAKES : WRITES;

    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    end_with(filter, SECCOMP_RET_ERRNO | EPERM);
    load(filter, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT(calls); i++) allow_if_equal(filter, calls[i]);
    for (size_t i = 0; asks && i < COUNT(asking); i++) allow_if_equal(filter, asking[i]);
    allow_to_open(filter, SYS_openat, 2, forbidden);
# ifdef SYS_open
    allow_to_open(filter, SYS_open, 1, forbidden);
# endif
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_ptrace);
    end_with(filter, SECCOMP_RET_ERRNO | EPERM);
    load(filter, ARGUMENT(0));
    for (size_t i = 0; i < COUNT(requests); i++) allow_if_equal(filter, requests[i]);
    end_with(filter, SECCOMP_RET_ERRNO | EPERM);
}

static void
filter_calls(bool asks)
{
    struct filter filter = {.count = 0};

    make(&filter, asks);
    struct sock_fprog program = {filter.count, filter.steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#else

static void
filter_calls(bool asks)
{
    (void)asks;
}

#endif

/* The filter comes last: it would not let the rest pass. */
void
cli_confine(const struct cli_confinement *confinement)
{
    int priority = getpriority(PRIO_PROCESS, 0) + confinement->priority;

    set_limits(confinement);
    if (confinement->priority) setpriority(PRIO_PROCESS, 0, priority);
    filter_calls(confinement->asks);
}
