/* interrupt.c - notes that a signal asks the command to end. */
#include "cli/interrupt.h"

#include <stddef.h>

enum { SIGNALS = 3 };

volatile sig_atomic_t cli_interrupted;

static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[SIGNALS];

static void
interrupt(int signal)
{
    cli_interrupted = signal;
}

/* Under nohup, SIGHUP stays ignored. */
void
cli_interrupt_begin(void)
{
    struct sigaction action = {.sa_handler = interrupt};

    cli_interrupted = 0;
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], &action, &before[i]);
        if (signals[i] == SIGHUP && before[i].sa_handler == SIG_IGN)
            sigaction(SIGHUP, &before[i], NULL);
    }
}

void
cli_interrupt_end(void)
{
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
}

void
cli_interrupt_hold(sigset_t *mask)
{
    sigset_t held;

    sigemptyset(&held);
    for (int i = 0; i < SIGNALS; i++) sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, mask);
}

void
cli_interrupt_release(const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
}
