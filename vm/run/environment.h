#ifndef HEAPPROF_VM_ENVIRONMENT_H
#define HEAPPROF_VM_ENVIRONMENT_H
#include <stddef.h>

/* Notes the working directory. Called once, at boot. */
void rb_heapprof_environment_begin(void);

/* The value of an environment variable. Returns NULL when it is unset, and when the process has
 * rights that its caller lacks. */
const char *rb_heapprof_environment_setting(const char *name);

/* The directory in which the program began; "" if it is not known. */
const char *rb_heapprof_environment_directory(void);

/* $0 as it is, or "ruby" before it is set. Needs the GVL; valid as long as the caller holds it. */
const char *rb_heapprof_environment_program(void);

/* Writes the last component of that. Needs the GVL. */
void rb_heapprof_environment_name(char *name, size_t size);

#endif
