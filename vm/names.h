#ifndef HEAPPROF_VM_NAMES_H
#define HEAPPROF_VM_NAMES_H
#include "gc/interpreter.h" /* the names of classes, which the collector's side asks for */
#include "profiler/callers.h"
#include "symbols.h"

/* The function a frame runs: iseq and the method it belongs to, either may be NULL.
 * 0 when memory is refused. */
uint32_t rb_heapprof_function_of(const rb_iseq_t *iseq, const rb_callable_method_entry_t *method);

/* The function that stands for the frames cut off at the depth limit. */
uint32_t rb_heapprof_function_truncated(void);

/* Adds to found the functions that ask the allocator for somebody else. Reads files: before the VM lock
 * is taken. And enters them, when the tables are new. */
void rb_heapprof_names_find_wrappers(struct heapprof_callers *found);
void rb_heapprof_names_add_wrappers(const struct heapprof_callers *found);

/* Adds the callers of the allocator that have no name yet; false when there are none, or memory is
 * refused. A search for their names needs no lock; afterwards they are entered. */
bool rb_heapprof_names_collect_callers(struct heapprof_symbols *unnamed);
void rb_heapprof_names_enter_callers(const struct heapprof_symbols *named);

/* Names again what was named after a class that had no name then and may have one now, and from
 * memory alone what callers are still without one. Before a snapshot. */
void rb_heapprof_names_refresh(void);

#endif
