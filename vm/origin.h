#ifndef HEAPPROF_VM_ORIGIN_H
#define HEAPPROF_VM_ORIGIN_H
#include "profiler/snapshot.h"

/* Notes in the snapshot of which process it is: pid, parent, program, title, host, directory, and the names
 * of threads that have one. Nothing that may be secret: no arguments, no environment. Under the VM lock; makes no
 * object. Without memory nothing is noted. */
void rb_heapprof_origin_note(struct heapprof_snapshot *snapshot);

#endif
