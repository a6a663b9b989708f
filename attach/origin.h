#ifndef ATTACH_ORIGIN_H
#define ATTACH_ORIGIN_H
/* Which process a profile is of, in lines "key: value", as vm/run/origin.c writes them inside. */
#include "attach/target.h"
#include "profiler/snapshot.h"

#define ATTACH_ORIGIN_TEXT_MAX 8192

/* Of a process: pid, parent, title, host, directory, where the kernel says; with a NUL at the end. Returns the length. */
size_t attach_origin_text(const struct attach_target *target, char text[ATTACH_ORIGIN_TEXT_MAX]);

/* The same in a heap profile. Without memory there is nothing. */
void attach_origin_of_target(const struct attach_target *target, struct heapprof_snapshot *snapshot);

/* The last part of its program's name, "ruby"; for a file's name. */
void attach_origin_program(const struct attach_target *target, char *name, size_t size);

#endif
