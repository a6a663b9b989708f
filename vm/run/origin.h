#ifndef HEAPPROF_VM_ORIGIN_H
#define HEAPPROF_VM_ORIGIN_H
#include "profiler/snapshot.h"

/* Interns a string that says which process this is: lines "key: value" of pid, parent, program,
 * title, host, directory, and the names of threads. It has nothing that may be secret: no
 * arguments, no environment. Returns its number, or 0 if there is no memory. Under the VM lock;
 * makes no object. */
uint32_t rb_heapprof_origin_intern(struct heapprof_strings *strings);

/* Notes that string in the snapshot, which may be NULL. */
void rb_heapprof_origin_note(struct heapprof_snapshot *snapshot);

#endif
