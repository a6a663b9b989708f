#ifndef HEAPPROF_CLI_INTERRUPT_H
#define HEAPPROF_CLI_INTERRUPT_H
/* ^C while a command works: it ends early, and keeps what it has, or tidies up. */
#include <signal.h>

/* Set to the number of SIGINT, SIGTERM or SIGHUP from cli_interrupt_begin to cli_interrupt_end. The
 * signal ends a sleep. A command that writes at last what it has leaves the end out. */
extern volatile sig_atomic_t cli_interrupted;

void cli_interrupt_begin(void);
void cli_interrupt_end(void);

/* From hold to release the signals come only in a ppoll with that mask, so that none comes just
 * before one. */
void cli_interrupt_hold(sigset_t *mask);
void cli_interrupt_release(const sigset_t *mask);

#endif
