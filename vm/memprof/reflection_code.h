#ifndef HEAPPROF_VM_REFLECTION_CODE_H
#define HEAPPROF_VM_REFLECTION_CODE_H
#include "ruby/ruby.h"
#include "vm_core.h"

/* All of these allocate Ruby objects and raise NoMemoryError. */

/* Sets the fields of code, environments and the like, which only the VM sees. */
void rb_heapprof_reflection_imemo_fields(VALUE hash, VALUE object);

/* The same of a Proc: its environment and its code. */
void rb_heapprof_reflection_proc_fields(VALUE hash, VALUE proc);

/* The frames of a thread's running fiber, innermost first, each a Hash. */
VALUE rb_heapprof_reflection_frames(const rb_thread_t *thread);

/* The innermost frame of a thread: its function, its receiver, and its last argument if it is a C
 * function that Ruby code has called with one. nil if the thread has no frame. */
VALUE rb_heapprof_reflection_innermost(const rb_thread_t *thread);

#endif
