#ifndef HEAPPROF_VM_NAMES_H
#define HEAPPROF_VM_NAMES_H
#include "gc/interpreter.h" /* the names of classes, which the collector's side asks for */

/* The function a frame runs: iseq and the method it belongs to, either may be NULL.
 * 0 when memory is refused. */
uint32_t rb_heapprof_function_of(const rb_iseq_t *iseq, const rb_callable_method_entry_t *method);

/* The function that stands for the frames cut off at the depth limit. */
uint32_t rb_heapprof_function_truncated(void);

/* As those of gc/interpreter.h: what a method of C is called. */
size_t rb_heapprof_called_text(VALUE owner, ID id, char text[HEAPPROF_NAME_BYTES]);

/* Names again what was named after a class that had no name then and may have one now. Before a
 * snapshot. */
void rb_heapprof_names_refresh(void);

#endif
