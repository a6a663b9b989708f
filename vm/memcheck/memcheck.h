#ifndef HEAPPROF_VM_MEMCHECK_H
#define HEAPPROF_VM_MEMCHECK_H
#include "vm/memcheck/leak_search.h"
#include "profiler/options.h"
#include "vm/names/symbol_names.h"

/* What memcheck needs of the other settings: each block of everybody's is known. */
void rb_heapprof_memcheck_settings(struct heapprof_options *options);

/* From now on nothing is sampled, but frees are still followed; names that only the VM knows are noted. The profiler is
 * off, and cannot be started again. While the VM is whole; under no lock. */
void rb_heapprof_memcheck_prepare(void);

/* begin and settle of the search, where the program's own part of the stack begins at that address; what is held leads to blocks, too. After
 * prepare. To be freed. False: what is lost cannot be told. */
bool rb_heapprof_memcheck_search(struct heapprof_leak_search *search, uintptr_t stack, const struct heapprof_held *held, uint32_t since_gc);

/* The file that MRI's own functions are in, in name. */
const char *rb_heapprof_memcheck_core(struct heapprof_symbol_name *name);

/* Looks for the blocks that are left, and writes them to path. 0, or errno. When the VM is gone, and the program's own
 * part of the stack begins at that address. */
int rb_heapprof_memcheck_write(const char *path, uintptr_t stack);

/* Called by boot when RUBY_HEAPPROF has begun a run with memcheck=1. MRI will free all its memory at exit. */
void rb_heapprof_memcheck_begin(void);

/* Whether the current run is that one, which goes on to the end of the process. */
bool rb_heapprof_memcheck_to_end_p(void);

#endif
