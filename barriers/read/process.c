/* process.c - runs a program in a process group of its own, so that all of it can be ended.
 *
 * The signal of its end is blocked until the program has been waited for, so it cannot come too
 * early. */
#include "barriers/read/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/text.h"

const char *
wb_ruby(void)
{
    const char *ruby = getenv("RUBY");

    return ruby && *ruby ? ruby : "ruby";
}

/* The terminal does not send its signals to another group, so the program ends when we do. */
static void
exec_words(char *const *words, const char *directory, int out, const sigset_t *signals)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, signals, NULL);
    if (chdir(directory) == 0 && dup2(out, STDOUT_FILENO) >= 0) execvp(words[0], words);
    report_print(stderr, "heapprof barriers: %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Returns false if the child has not ended after so many seconds. */
static bool
wait_for(pid_t child, const sigset_t *ended, unsigned seconds)
{
    struct timespec now, end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    while (waitpid(child, NULL, WNOHANG) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct timespec left = { end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec };
        if (left.tv_nsec < 0) left.tv_sec--, left.tv_nsec += 1000000000;
        if (left.tv_sec < 0) return false;
        sigtimedwait(ended, NULL, &left);
    }
    return true;
}

bool
wb_run(char *const *words, const char *directory, int out, unsigned seconds)
{
    sigset_t ended, before;

    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, &before);
    pid_t child = fork();
    if (child == 0) exec_words(words, directory, out, &before);
    bool in_time = child > 0 && wait_for(child, &ended, seconds);
    if (child > 0 && !in_time) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL); /* it may not have its group yet */
        waitpid(child, NULL, 0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return in_time;
}
