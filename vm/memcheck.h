#ifndef HEAPPROF_VM_MEMCHECK_H
#define HEAPPROF_VM_MEMCHECK_H
#include "profiler/options.h"

/* What memcheck needs of the other settings: each block of everybody's is known. */
void rb_heapprof_memcheck_settings(struct heapprof_options *options);

/* From now on nothing is sampled, but frees are still followed; names that only the VM knows are noted. The profiler is
 * off, and cannot be started again. While the VM is whole; under no lock. */
void rb_heapprof_memcheck_prepare(void);

/* Looks for the blocks that are left, and writes them to path. 0, or errno. When the VM is gone, and the program's own
 * part of the stack begins at that address. */
int rb_heapprof_memcheck_write(const char *path, uintptr_t stack);

#endif
