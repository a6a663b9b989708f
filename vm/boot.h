#ifndef HEAPPROF_VM_BOOT_H
#define HEAPPROF_VM_BOOT_H
#include <stdbool.h>

/* Reads RUBY_HEAPPROF, and starts the profiler if it says so. Called once, when the core classes
 * are there and before any Ruby code runs. */
void Init_heapprof(void);

/* Called in the child of a fork: the file at its end is its own. */
void rb_heapprof_boot_after_fork(void);

/* Called when the command line has left no program to run. Then there is no profile. */
void rb_heapprof_no_program(void);

/* Writes the profile that RUBY_HEAPPROF asked for, and stops. Called after the at_exit blocks,
 * before objects are finalized. May run a GC, hence Ruby code. Raises nothing. */
void rb_heapprof_at_exit(void);

/* Called when the VM is gone. With memcheck=1 it writes the file. */
void rb_heapprof_at_end(void);

#endif
