#ifndef HEAPPROF_ATTACH_ORIGIN_H
#define HEAPPROF_ATTACH_ORIGIN_H
/* Which process a profile is of, in lines "key: value", as vm/origin.c writes them inside. */
#include "attach/target.h"
#include "profiler/snapshot.h"

/* Of a process: pid, parent, program, title, host, directory. Without memory, or where the kernel does not say, there is
 * less. */
void rb_heapprof_origin_of_target(const struct heapprof_target *target, struct heapprof_snapshot *snapshot);

/* The last part of its program's name, "ruby"; for a file's name. */
void rb_heapprof_origin_program(const struct heapprof_target *target, char *name, size_t size);

#endif
