#ifndef HEAPPROF_VM_MEMCHECK_H
#define HEAPPROF_VM_MEMCHECK_H
#include "vm/memcheck/leak_search.h"
#include "profiler/options.h"
#include "vm/names/symbol_names.h"

/* Sets the other settings as memcheck needs them: each block of each caller is sampled. */
void rb_heapprof_memcheck_settings(struct heapprof_options *options);

/* Ends sampling; frees are still followed. Notes the names that only the VM knows. The profiler
 * is off then, and cannot be started again. The VM has to be whole, and the caller holds no lock.
 */
void rb_heapprof_memcheck_prepare(void);

/* Runs leak_search's begin and settle, and names callers, after rb_heapprof_memcheck_prepare. What
 * MRI has lost does not hide what others have lost. `stack` is where the program's own part of the
 * stack begins. `held` (may be NULL) leads to blocks, too. Returns false if lost blocks cannot be
 * told. The caller frees the search in either case. */
bool rb_heapprof_memcheck_search(struct heapprof_leak_search *search, uintptr_t stack,
                                 const struct heapprof_held *held, uint32_t since_gc);

/* The file that contains MRI's own functions. name->library holds the text. */
const char *rb_heapprof_memcheck_core(struct heapprof_symbol_name *name);

/* Searches the blocks that are left, and writes them to path. Returns 0, or errno. Called when
 * the VM is gone. `stack` is where the program's own part of the stack begins. */
int rb_heapprof_memcheck_write(const char *path, uintptr_t stack);

/* Notes which process this is, for the file. */
void rb_heapprof_memcheck_note_process(void);

/* Writes only the errors that were seen so far, of a process that crashes. Returns 0, or errno. */
int rb_heapprof_memcheck_write_uses(const char *path);

/* From here on, what a thread asks for without the GVL has its Ruby stack. The caller has the
 * GVL. */
void rb_heapprof_memcheck_follow_threads(void);

/* Called at boot, when RUBY_HEAPPROF has begun a run with memcheck=1. Has MRI free all its memory
 * at exit. */
void rb_heapprof_memcheck_begin(void);

/* Whether the current run is that one, which goes on to the end of the process. */
bool rb_heapprof_memcheck_to_end_p(void);

#endif
