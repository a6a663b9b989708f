#ifndef HEAPPROF_CLI_CHILD_H
#define HEAPPROF_CLI_CHILD_H
/* A command that heapprof runs for the user.
 *
 *     heapprof --fork--> command
 *         ^ heapprof passes signals on to it; the terminal sends it signals directly
 *         heapprof ends as the command ends: with the same status, or by the same signal
 *
 * From start to restore, signals are blocked and taken one by one. So no signal comes too early
 * or too late. */
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/cli.h"

struct cli_child {
    pid_t    pid;
    sigset_t before;      /* the mask that the command runs with */
    sigset_t taken;       /* signals that stay blocked until heapprof takes them */
    int      status;      /* set by wait, when the command has ended */
    bool     ended;
};

/* What SIGPIPE did when heapprof started. heapprof ignores SIGPIPE; a command gets this back. */
extern void (*cli_sigpipe)(int);

/* Starts the command. Sets RUBY_HEAPPROF to heapprof, unless heapprof is NULL. Returns 0, or the
 * errno of what kept the command from running. */
int cli_child_start(struct cli_child *child, char **command, const char *heapprof);

/* Says that the command was not run, and why. Returns the status that a shell returns then. */
int cli_child_not_run(const struct cli *cli, const struct cli_child *child, int error);

/* poll passes on the signals that have come, and returns whether the command has ended. wait
 * waits until it has ended. wait_for waits at most that many seconds, and returns whether it has
 * ended. */
bool cli_child_poll(struct cli_child *child);
void cli_child_wait(struct cli_child *child);
bool cli_child_wait_for(struct cli_child *child, long seconds);

/* Makes signals do again what they did before start. */
void cli_child_restore(const struct cli_child *child);

/* Ends as the command has ended. Returns its status. If a signal ended it, this does not return:
 * the same signal ends heapprof. */
int cli_child_end_like(const struct cli_child *child);

#endif
