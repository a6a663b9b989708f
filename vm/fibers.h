/* fibers.h - what only cont.c knows of a fiber. A patch includes it at the end of MRI's cont.c,
 * because the struct is private there. gc/interpreter.h declares the functions. */

VALUE
rb_heapprof_fiber_block(const struct rb_fiber_struct *fiber)
{
    return fiber->first_proc;
}

VALUE
rb_heapprof_fiber_resumer(const struct rb_fiber_struct *fiber)
{
    return fiber->prev ? fiber->prev->cont.self : 0;
}

const char *
rb_heapprof_fiber_state(const struct rb_fiber_struct *fiber)
{
    return fiber_status_name(fiber->status);
}

uintptr_t
rb_heapprof_fiber_entry(void)
{
    return (uintptr_t)fiber_entry;
}

/* labels/labels.h declares it. An Enumerator is resumed by the fiber that runs. */
void
rb_heapprof_label_enumerator(VALUE fiber)
{
    rb_heapprof_label_resumed(GET_EC(), &fiber_ptr(fiber)->cont.saved_ec);
}
