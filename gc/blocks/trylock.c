/* trylock.c - the VM lock for a caller of the C library, who may be anywhere: knock, but do not
 * wait at the door for long. Compiled inside gc.c.
 *
 * The caller may be a thread that Ruby has never seen, on a stack of its own, or have the lock
 * of a library that the collector may want to free an object.
 */
#include "os/interpose.h"

#if HEAPPROF_CAN_INTERPOSE
# include <sched.h>

/* True if this is the stack that Ruby gave the thread, with room for what a sample needs. */
HEAPPROF_COLD static bool
on_machine_stack_p(const rb_execution_context_t *ec)
{
    enum { room = 16 * 1024 };
    uintptr_t used = (uintptr_t)ec->machine.stack_start - (uintptr_t)__builtin_frame_address(0);
    size_t size = ec->machine.stack_maxsize;
    return size > room && used < size - room;
}

HEAPPROF_COLD static bool
may_sample_all_p(void)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    return ec && ruby_native_thread_p() && has_gvl_p(ec) && on_machine_stack_p(ec);
}

/* Takes the VM lock, unless another ractor has it for long: that one may wait for the lock of a
 * library that we are in. As a rule the VM lock is held for a few microseconds, so trying for a
 * while saves the stacks of those samples. A barrier is not joined (malloc.c). */
HEAPPROF_COLD static bool
try_vm_lock(unsigned int *lev)
{
    enum { most = 1000 };
    rb_vm_t *vm = GET_VM();

    /* With one ractor, which has the GVL, rb_gc_vm_lock_no_barrier takes no lock. */
    if (rb_multi_ractor_p() && !rb_vm_locked_p()) {
        for (int tries = 0; rb_native_mutex_trylock(&vm->ractor.sync.lock) != 0; tries++) {
            if (tries == most) return false;
            sched_yield();
        }
        vm->ractor.sync.lock_owner = GET_RACTOR();
    }
    *lev = rb_gc_vm_lock_no_barrier();
    return true;
}

#endif
