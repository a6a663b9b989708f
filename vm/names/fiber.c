/* fiber.c - the stacks of a fiber, as memory.
 *
 * A fiber has one piece of MRI's pool of stacks: its machine stack grows down from the end of
 * that piece to its begin, and its VM stack lies at the top of it.
 */
#include "ruby/ruby.h"
#include "vm/names/fiber.h"
#include "internal/cont.h"
#include "os/resident.h"

size_t
rb_heapprof_fiber_vm_stack_bytes(const rb_execution_context_t *ec)
{
    return ec->vm_stack_size * sizeof(VALUE);
}

struct heapprof_range
rb_heapprof_fiber_machine_stack(const rb_execution_context_t *ec)
{
    uintptr_t end = (uintptr_t)ec->machine.stack_start;
    return (struct heapprof_range){end - ec->machine.stack_maxsize, end};
}

size_t
rb_heapprof_fiber_resident_bytes(VALUE object)
{
    if (!RTEST(rb_obj_is_fiber(object)) || !RTYPEDDATA_GET_DATA(object)) return 0;

    struct rb_fiber_struct *fiber = RTYPEDDATA_GET_DATA(object);
    const rb_execution_context_t *ec = rb_fiberptr_get_ec(fiber);
    if (!ec->vm_stack || !ec->machine.stack_start) return 0; /* ended, or not resumed yet */
    if (ec->thread_ptr->root_fiber == fiber) return 0;

    struct heapprof_range machine = rb_heapprof_fiber_machine_stack(ec);
    return rb_heapprof_resident_bytes(machine.begin, machine.end - machine.begin) +
           rb_heapprof_resident_bytes((uintptr_t)ec->vm_stack,
                                      rb_heapprof_fiber_vm_stack_bytes(ec));
}
