#ifndef HEAPPROF_CLI_CHILD_H
#define HEAPPROF_CLI_CHILD_H
/* A command that is run for the user.
 *
 *     heapprof --fork--> command
 *         ^ signals to us go to it; what the terminal sends, it has got itself
 *         its end is our end: the same status, or the same signal
 *
 * From start to restore signals are blocked and taken one by one, so none comes too early or too late. */
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/cli.h"

struct cli_child {
    pid_t    pid;
    sigset_t before;      /* the mask to run it with */
    sigset_t taken;       /* signals that wait for us */
    int      status;      /* as of wait, when it has ended */
    bool     ended;
};

/* What SIGPIPE did when heapprof started, which ignores it. A command gets it back. */
extern void (*cli_sigpipe)(int);

/* Starts it; with RUBY_HEAPPROF set to heapprof, unless that is NULL. 0, or errno of what kept it from running. */
int cli_child_start(struct cli_child *child, char **command, const char *heapprof);

/* Says that it was not run, and why: a status as a shell has it. */
int cli_child_not_run(const struct cli *cli, const struct cli_child *child, int error);

/* Passes on the signals that have come; whether it has ended. wait waits for that; wait_for does at most so long. */
bool cli_child_poll(struct cli_child *child);
void cli_child_wait(struct cli_child *child);
bool cli_child_wait_for(struct cli_child *child, long seconds);

/* Signals do again what they did before start. */
void cli_child_restore(const struct cli_child *child);

/* Ends as it has ended: its status to return, or its signal, from which this does not return. */
int cli_child_end_like(const struct cli_child *child);

#endif
