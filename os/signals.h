#ifndef HEAPPROF_SIGNALS_H
#define HEAPPROF_SIGNALS_H
#include <stddef.h>

/* Signals that a process may be asked by, to write a profile: those that end nothing by themselves,
 * that no fault raises, and that Ruby keeps none of for itself. */
#define HEAPPROF_SIGNALS "USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG, IO, PWR, TTIN or TTOU"

/* The number of such a signal, by its name, with or without SIG; 0: none of them. */
int rb_heapprof_signal_number(const char *name, size_t length);

/* Its name without SIG; "" of 0 and of any other. */
const char *rb_heapprof_signal_name(int number);

#endif
