#ifndef HEAPPROF_VM_CALLER_NAMES_H
#define HEAPPROF_VM_CALLER_NAMES_H
#include "gc/interpreter.h" /* all of these names at once */
#include "profiler/callers.h"
#include "vm/names/symbols.h"

/* Adds to `found` MRI's functions that have a role in requests. Without memcheck nobody asks for
 * other roles than those of wrappers. Reads files: to be called before the VM lock is taken. */
void rb_heapprof_caller_names_find_roles(struct heapprof_callers *found, bool memcheck);

/* Enters them into the tables of a new run. Under the VM lock. */
void rb_heapprof_caller_names_add_roles(const struct heapprof_callers *found);

/* Adds the callers of the allocator that have no name yet. Returns false if there are none, or
 * memory is refused. Under the VM lock. The search for their names needs no lock. */
bool rb_heapprof_caller_names_collect(struct heapprof_symbols *unnamed);

/* Enters the names that the search has found. Under the VM lock. */
void rb_heapprof_caller_names_enter(const struct heapprof_symbols *named);

/* Names the callers that still have no name, from memory alone. Called before a snapshot. */
void rb_heapprof_caller_names_refresh(void);

#endif
