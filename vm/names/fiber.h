#ifndef HEAPPROF_VM_FIBER_H
#define HEAPPROF_VM_FIBER_H
#include "gc/interpreter.h" /* rb_heapprof_fiber_resident_bytes, which the collector asks for */

struct heapprof_range {
    uintptr_t begin, end; /* addresses */
};

/* The whole machine stack of a thread or fiber. It grows downwards from its end. */
struct heapprof_range rb_heapprof_fiber_machine_stack(const rb_execution_context_t *ec);

/* Bytes of the VM stack of a thread or fiber. */
size_t rb_heapprof_fiber_vm_stack_bytes(const rb_execution_context_t *ec);

#endif
