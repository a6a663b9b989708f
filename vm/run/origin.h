#ifndef HEAPPROF_VM_ORIGIN_H
#define HEAPPROF_VM_ORIGIN_H
#include "profiler/snapshot.h"
#include <sys/types.h>

/* Interns a string that says which process this is: lines "key: value" of pid, parent, program,
 * title, host, directory, and the names of threads. It has nothing that may be secret: no
 * arguments, no environment. Returns its number, or 0 if there is no memory. Under the VM lock;
 * makes no object. */
uint32_t rb_heapprof_origin_intern(struct heapprof_strings *strings);

/* In a copy of the process: says of which process it is one. */
void rb_heapprof_origin_copied(pid_t pid, pid_t parent);

/* Notes that string in the snapshot, which may be NULL. */
void rb_heapprof_origin_note(struct heapprof_snapshot *snapshot);

/* Adds lines "key: value" to that note, each ended by a newline. Returns false if there is no
 * memory. Needs no lock. */
bool rb_heapprof_origin_add(struct heapprof_snapshot *snapshot, const char *lines);

#endif
