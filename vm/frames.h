#ifndef HEAPPROF_VM_FRAMES_H
#define HEAPPROF_VM_FRAMES_H
#include "vm_core.h"

/* The call stack of the running thread or fiber as a stack number, not held;
 * HEAPPROF_NO_STACK when memory is refused. 0 where there is no frame yet. Under the
 * VM lock; allocates no Ruby object, raises nothing, starts no GC. */
uint32_t rb_heapprof_frames_capture(const rb_execution_context_t *ec);

/* Forgets the stack walked last: the code it names may die, its nodes may be trimmed. */
void rb_heapprof_frames_forget(void);

/* Gives back the buffers. */
void rb_heapprof_frames_free(void);

#endif
