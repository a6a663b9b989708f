/* child.c - runs a command. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* pipe2 */
#endif
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/stop.h"
#include "os/clock.h"

#define NOT_FOUND 127 /* the status that a shell returns */
#define NOT_RUN 126

void (*cli_sigpipe)(int);

static void
become(char **command, const struct cli_child *child, const char *heapprof, int report)
{
    int error;

    if (heapprof) setenv("RUBY_HEAPPROF", heapprof, 1);
    signal(SIGPIPE, cli_sigpipe);
    sigprocmask(SIG_SETMASK, &child->before, NULL);
    execvp(command[0], command);
    error = errno;
    if (write(report, &error, sizeof(error)) != sizeof(error)) _exit(NOT_RUN);
    _exit(NOT_RUN);
}

static void
block_signals(struct cli_child *child)
{
    sigfillset(&child->taken);
    /* Signals of faults, and signals that stop a job: the terminal stops both processes. */
    for (const int *one = (const int[]) { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT,
                                          SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH, 0 };
         *one; one++) {
        sigdelset(&child->taken, *one);
    }
    sigprocmask(SIG_BLOCK, &child->taken, &child->before);
}

int
cli_child_start(struct cli_child *child, char **command, const char *heapprof)
{
    int ends[2], error = 0;

    *child = (struct cli_child){0};
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    block_signals(child);
    child->pid = fork();
    if (child->pid == 0) become(command, child, heapprof, ends[1]);
    if (child->pid < 0) error = errno;
    close(ends[1]);
    if (child->pid > 0 && read(ends[0], &error, sizeof(error)) == sizeof(error))
        waitpid(child->pid, NULL, 0);
    close(ends[0]);
    return error;
}

int
cli_child_not_run(const struct cli *cli, const struct cli_child *child, int error)
{
    char advice[CLI_KIND_ADVICE_MAX];

    cli_child_restore(child);
    if (cli_kind_advise(advice, cli_kind_of_file(cli->operands[0]), cli->command,
                        cli->operands[0])) {
        cli_wrong(cli, "%s: %s", cli->operands[0], advice);
    }
    else cli_wrong(cli, "%s: %s", cli->operands[0], strerror(error));
    return error == ENOENT ? NOT_FOUND : NOT_RUN;
}

static void
take(struct cli_child *child, int signal, const siginfo_t *info)
{
    if (signal == SIGCHLD) {
        child->ended = child->ended || waitpid(child->pid, &child->status, WNOHANG) == child->pid ||
                       attach_stop_child_end(child->pid, &child->status);
    }
    else if (!child->ended &&
             (info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL)) {
        kill(child->pid, signal);
    }
}

bool
cli_child_poll(struct cli_child *child)
{
    const struct timespec now = {0};
    siginfo_t info;
    int signal;

    while ((signal = sigtimedwait(&child->taken, &info, &now)) > 0) take(child, signal, &info);
    return child->ended;
}

void
cli_child_wait(struct cli_child *child)
{
    siginfo_t info;

    while (!child->ended) take(child, sigwaitinfo(&child->taken, &info), &info);
}

bool
cli_child_wait_for(struct cli_child *child, long seconds)
{
    int64_t second = 1000000000, end = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + seconds * second,
            left;

    while (!child->ended && (left = end - rb_heapprof_clock_ns(CLOCK_MONOTONIC)) > 0) {
        struct timespec wait = {left / second, left % second};
        siginfo_t info;
        int signal = sigtimedwait(&child->taken, &info, &wait);
        if (signal > 0) take(child, signal, &info);
    }
    return child->ended;
}

void
cli_child_restore(const struct cli_child *child)
{
    sigprocmask(SIG_SETMASK, &child->before, NULL);
}

int
cli_child_end_like(const struct cli_child *child)
{
    struct rlimit no_core = {0, 0};

    if (!WIFSIGNALED(child->status)) return WEXITSTATUS(child->status);
    setrlimit(RLIMIT_CORE, &no_core); /* the command has left a core, if there is to be one */
    signal(WTERMSIG(child->status), SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &child->taken, NULL);
    raise(WTERMSIG(child->status));
    return 128 + WTERMSIG(child->status);
}
