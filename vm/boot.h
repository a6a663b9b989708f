#ifndef HEAPPROF_VM_BOOT_H
#define HEAPPROF_VM_BOOT_H
#include <stdbool.h>

/* Reads RUBY_HEAPPROF and starts if it says so. Called once, when the core classes
 * are there and before any Ruby code runs. */
void Init_heapprof(void);

/* In the child of a fork: the file at its end is its own. */
void rb_heapprof_boot_after_fork(void);

/* Called when the command line has left no program to run: no profile, then. */
void rb_heapprof_no_program(void);

/* Writes the profile RUBY_HEAPPROF asked for and stops. Called after the at_exit
 * blocks, before objects are finalized. May run a GC, hence Ruby code; raises nothing. */
void rb_heapprof_at_exit(void);

/* Called when the VM is gone: with memcheck=1 that is when the file is written. */
void rb_heapprof_at_end(void);

#endif
