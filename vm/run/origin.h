#ifndef HEAPPROF_VM_ORIGIN_H
#define HEAPPROF_VM_ORIGIN_H
#include "profiler/snapshot.h"

/* Which process it is, as a string: pid, parent, program, title, host, directory, and the names of threads that have
 * one, in lines "key: value". Nothing that may be secret: no arguments, no environment. Under the VM lock; makes no
 * object. 0: no memory. */
uint32_t rb_heapprof_origin_intern(struct heapprof_strings *strings);

/* Notes that in the snapshot. */
void rb_heapprof_origin_note(struct heapprof_snapshot *snapshot);

#endif
