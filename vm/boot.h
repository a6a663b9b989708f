#ifndef HEAPPROF_VM_BOOT_H
#define HEAPPROF_VM_BOOT_H

/* Reads RUBY_HEAPPROF and starts if it says so. Called once, when the core classes
 * are there and before any Ruby code runs. */
void Init_heapprof(void);

/* Where the program began; "": not known. */
const char *rb_heapprof_boot_directory(void);

/* Called when the command line has left no program to run: no profile, then. */
void rb_heapprof_no_program(void);

/* Writes the profile RUBY_HEAPPROF asked for and stops. Called after the at_exit
 * blocks, before objects are finalized. May run a GC, hence Ruby code; raises nothing. */
void rb_heapprof_at_exit(void);

#endif
