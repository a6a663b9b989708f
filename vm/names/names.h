#ifndef HEAPPROF_VM_NAMES_H
#define HEAPPROF_VM_NAMES_H
#include "gc/interpreter.h" /* declares the names of classes, which gc/ asks for */

/* The number of the function that a frame runs: its iseq, and the method that it belongs to.
 * Either may be NULL. Returns 0 if memory is refused. */
uint32_t rb_heapprof_function_of(const rb_iseq_t *iseq, const rb_callable_method_entry_t *method);

/* The function that stands for the frames cut off at the depth limit. */
uint32_t rb_heapprof_function_truncated(void);

/* Writes the name of a method of C to text, and returns its length, as the functions of
 * gc/interpreter.h do. */
size_t rb_heapprof_called_text(VALUE owner, ID id, char text[HEAPPROF_NAME_BYTES]);

/* Finds the names again that contain a class that had no permanent name. It may have one by this
 * time. Called before a snapshot. */
void rb_heapprof_names_refresh(void);

#endif
