/* signals.c - names of signals.
 *
 * INT, TERM and CHLD are not among them, because a program or its shell counts on what they do.
 * The signals that the kernel raises for a fault are not among them. Neither is VTALRM, by which
 * MRI wakes its threads.
 *
 * Pure: may run anywhere.
 */
#include "os/signals.h"
#include <signal.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT}, {"ALRM", SIGALRM},
    {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"URG", SIGURG}, {"IO", SIGIO},
#ifdef SIGPWR
    {"PWR", SIGPWR},
#endif
    {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},
};

#define COUNT (sizeof(signals) / sizeof(signals[0]))

int
rb_heapprof_signal_number(const char *name, size_t length)
{
    if (length > 3 && memcmp(name, "SIG", 3) == 0) {
        name += 3;
        length -= 3;
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (strlen(signals[i].name) == length && memcmp(signals[i].name, name, length) == 0) {
            return signals[i].number;
        }
    }
    return 0;
}

const char *
rb_heapprof_signal_name(int number)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (signals[i].number == number) return signals[i].name;
    }
    return "";
}
