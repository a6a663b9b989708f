#ifndef HEAPPROF_SIGNALS_H
#define HEAPPROF_SIGNALS_H
#include <stddef.h>

/* Signals that may ask a process to write a profile: no fault raises them, and Ruby does not
 * need them for itself. */
#define HEAPPROF_SIGNALS "USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG, IO, PWR, TTIN or TTOU"

/* Returns the number of such a signal, by its name with or without SIG. Returns 0 for any other
 * name. */
int rb_heapprof_signal_number(const char *name, size_t length);

/* Returns a signal's name without SIG. Returns "" for 0 and any other number. */
const char *rb_heapprof_signal_name(int number);

#endif
