#ifndef HEAPPROF_ATTACH_ORIGIN_H
#define HEAPPROF_ATTACH_ORIGIN_H
/* Which process a profile is of, in lines "key: value", as vm/run/origin.c writes them inside. */
#include "attach/target.h"
#include "profiler/snapshot.h"

#define HEAPPROF_ORIGIN_TEXT_MAX 8192

/* Of a process: pid, parent, title, host, directory, where the kernel says; with a NUL at the end. Returns the length. */
size_t rb_heapprof_origin_text(const struct heapprof_target *target, char text[HEAPPROF_ORIGIN_TEXT_MAX]);

/* The same in a heap profile. Without memory there is nothing. */
void rb_heapprof_origin_of_target(const struct heapprof_target *target, struct heapprof_snapshot *snapshot);

/* The last part of its program's name, "ruby"; for a file's name. */
void rb_heapprof_origin_program(const struct heapprof_target *target, char *name, size_t size);

#endif
