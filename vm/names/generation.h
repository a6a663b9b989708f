#ifndef HEAPPROF_VM_GENERATION_H
#define HEAPPROF_VM_GENERATION_H
/* What a reader outside knows by the address of an iseq or a method entry, names above all, stays right as long as
 * this number is what it was before it read, and nothing is compacted: afterwards another may be at that
 * address. A count of GCs would not do, for sweeping is lazy (doc/descriptor.md). */
#include <stdint.h>

extern uint64_t ruby_vm_code_generation;

/* Code or a method is about to be freed. In GC: under the VM lock, or all ractors stopped. Who sees anything that
 * is written afterwards sees this. */
static inline void
ruby_vm_code_changes(void)
{
    __atomic_store_n(&ruby_vm_code_generation, ruby_vm_code_generation + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

#endif
