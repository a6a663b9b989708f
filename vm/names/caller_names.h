#ifndef HEAPPROF_VM_CALLER_NAMES_H
#define HEAPPROF_VM_CALLER_NAMES_H
#include "gc/interpreter.h" /* all of these names at once */
#include "profiler/callers.h"
#include "vm/names/symbols.h"

/* Adds to found the functions that ask the allocator for somebody else. Reads files: before the VM lock
 * is taken. And enters them, when the tables are new. */
void rb_heapprof_caller_names_find_wrappers(struct heapprof_callers *found);
void rb_heapprof_caller_names_add_wrappers(const struct heapprof_callers *found);

/* Adds the callers of the allocator that have no name yet; false when there are none, or memory is
 * refused. A search for their names needs no lock; afterwards they are entered. */
bool rb_heapprof_caller_names_collect(struct heapprof_symbols *unnamed);
void rb_heapprof_caller_names_enter(const struct heapprof_symbols *named);

/* Names from memory alone what callers are still without a name. Before a snapshot. */
void rb_heapprof_caller_names_refresh(void);

#endif
