#ifndef HEAPPROF_VM_INTERPOSE_H
#define HEAPPROF_VM_INTERPOSE_H
#include "profiler/options.h"

/* One line that says why malloc=all cannot be had in this process; NULL: it can. */
const char *rb_heapprof_interpose_refusal(void);

/* From now on, and in whatever is loaded later, callers of the C library's allocator call ours
 * (gc/interposed.h). Not to be called after a refusal. Calls of these two are serialised. */
void rb_heapprof_interpose_start(void);

/* The code of a library that asks for somebody else, as strdup and C++'s new do; numbered from 0 in
 * the order they were loaded. False: there are no more yet. Waits for nobody. */
bool rb_heapprof_interpose_library(size_t number, uintptr_t *start, size_t *size);

/* They call the real one again, but for those that copied our address meanwhile: ours goes on
 * handing over for them. */
void rb_heapprof_interpose_stop(void);

#endif
