#ifndef HEAPPROF_VM_GENERATION_H
#define HEAPPROF_VM_GENERATION_H
#include <stdint.h>

/* Grows when code or a method is freed. A reader outside knows names by the address of an iseq or a
 * method entry. They stay right as long as this number is the same, and nothing is compacted: after
 * that another object may be at the address. A count of GCs would not do, because sweeping is lazy
 * (doc/descriptor.md). */
extern uint64_t ruby_vm_code_generation;

/* Called when code or a method is about to be freed, inside a GC: under the VM lock, or with all
 * ractors stopped. A reader that sees anything written afterwards sees the new number. */
static inline void
ruby_vm_code_changes(void)
{
    __atomic_store_n(&ruby_vm_code_generation, ruby_vm_code_generation + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

#endif
