#ifndef HEAPPROF_VM_BOOT_H
#define HEAPPROF_VM_BOOT_H
#include <stdbool.h>

/* Reads RUBY_HEAPPROF and starts if it says so. Called once, when the core classes
 * are there and before any Ruby code runs. */
void Init_heapprof(void);

/* What an environment variable says; NULL when it is unset, or when the process has rights its caller lacks. */
const char *rb_heapprof_boot_setting(const char *name);

/* Where the program began; "": not known. */
const char *rb_heapprof_boot_directory(void);

/* $0 as it is; "ruby" before there is one. Needs the GVL; good as long as that is held. */
const char *rb_heapprof_boot_program(void);

struct heapprof_series;

/* One line on stderr: what, and why. Needs no GVL. */
void rb_heapprof_boot_complain(const char *what, const char *detail);

/* That the file was not written; path is "" if it has none. */
void rb_heapprof_boot_complain_unwritten(const char *path, int error);

/* Says, once in a child of fork, that its files have other names than the template says. */
void rb_heapprof_boot_tell_distinct(struct heapprof_series *series, const char *path);

/* In the child of a fork: the file at its end is its own. */
void rb_heapprof_boot_after_fork(void);

/* Called when the command line has left no program to run: no profile, then. */
void rb_heapprof_no_program(void);

/* Whether this is a run with memcheck=1, which goes on to the end of the process. */
bool rb_heapprof_boot_memcheck_p(void);

/* Writes the profile RUBY_HEAPPROF asked for and stops. Called after the at_exit
 * blocks, before objects are finalized. May run a GC, hence Ruby code; raises nothing. */
void rb_heapprof_at_exit(void);

/* Called when the VM is gone: with memcheck=1 that is when the file is written. */
void rb_heapprof_at_end(void);

#endif
