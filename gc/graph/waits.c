/* waits.c - what a thread or fiber waits for, as its frames tell. Compiled inside gc.c.
 *
 *     thread    innermost frames, as long as they are of MRI: the first whose self one can wait for
 *                   Mutex#sleep, then ConditionVariable#wait   -->  the ConditionVariable
 *     fiber     the frame of the scheduler's method `block`: its first argument
 *
 * Whoever waits with a timeout needs nobody else to go on. Such a thread only "sleeps" (texts.c);
 * such a fiber waits for nothing here.
 */
#include "gc/graph/form.h"
#include "iseq.h"

static bool
graph_waited_for_p(VALUE object)
{
    static const char *const types[] = {
        "VM/thread", "mutex", "queue", "sized_queue", "condvar", "monitor", "ractor",
    };

    if (!object || RB_SPECIAL_CONST_P(object) || !RB_TYPE_P(object, T_DATA) || !RTYPEDDATA_P(object)) return false;
    for (size_t i = 0; i < numberof(types); i++) {
        if (strcmp(RTYPEDDATA_TYPE(object)->wrap_struct_name, types[i]) == 0) return true;
    }
    return false;
}

static bool
graph_named_p(ID id, const char *name)
{
    VALUE text = rb_id2str(id);

    return text && (size_t)RSTRING_LEN(text) == strlen(name) && memcmp(RSTRING_PTR(text), name, strlen(name)) == 0;
}

/* True if MRI has written the method, in C or in Ruby. */
static bool
graph_builtin_p(const rb_control_frame_t *frame)
{
    static const char internal[] = "<internal:";

    if (!VM_FRAME_RUBYFRAME_P(frame)) return true;
    VALUE path = rb_iseq_path(frame->iseq);
    return RSTRING_LEN(path) >= (long)strlen(internal) && memcmp(RSTRING_PTR(path), internal, strlen(internal)) == 0;
}

/* True if the frame's method is one of self's class, but not of Kernel; and does not just sleep
 * until somebody wakes the thread. */
static bool
graph_waiting_method_p(const rb_control_frame_t *frame)
{
    const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(frame);

    return method && method->owner && RB_TYPE_P(method->owner, T_CLASS) && !graph_named_p(method->def->original_id, "sleep");
}

static VALUE
graph_awaited_by_thread(const rb_control_frame_t *frame, const rb_control_frame_t *end)
{
    for (; frame < end && graph_builtin_p(frame); frame = RUBY_VM_PREVIOUS_CONTROL_FRAME(frame)) {
        if (graph_waited_for_p(frame->self) && graph_waiting_method_p(frame)) return frame->self;
    }
    return 0;
}

/* block(blocker, timeout = nil) */
static VALUE
graph_awaited_by_fiber(const rb_control_frame_t *frame, const rb_control_frame_t *end, VALUE scheduler)
{
    for (; frame < end; frame = RUBY_VM_PREVIOUS_CONTROL_FRAME(frame)) {
        if (frame->self != scheduler || !VM_FRAME_RUBYFRAME_P(frame)) continue;
        const struct rb_iseq_constant_body *body = ISEQ_BODY(frame->iseq);
        const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(frame);
        if (body->type != ISEQ_TYPE_METHOD || body->local_table_size < 2) continue;
        if (!method || !graph_named_p(method->def->original_id, "block")) continue;
        const VALUE *locals = frame->ep - (VM_ENV_DATA_SIZE - 1) - body->local_table_size;
        return NIL_P(locals[1]) ? locals[0] : 0;
    }
    return 0;
}

static void
graph_waits(struct heapprof_graph *graph, const rb_execution_context_t *ec)
{
    const rb_thread_t *thread = ec->thread_ptr;
    const rb_control_frame_t *end = (const rb_control_frame_t *)(ec->vm_stack + ec->vm_stack_size);
    VALUE awaited = 0;

    if (!thread) return;
    if (thread->ec != ec) {
        if (!NIL_P(thread->scheduler)) awaited = graph_awaited_by_fiber(ec->cfp, end, thread->scheduler);
    }
    else if (thread->status == THREAD_STOPPED || thread->status == THREAD_STOPPED_FOREVER) {
        awaited = graph_awaited_by_thread(ec->cfp, end);
    }
    if (!RB_SPECIAL_CONST_P(awaited)) graph_field(graph, "waits for", awaited);
}
