/* waits.c - what a thread or fiber waits for, as its frames tell. Compiled inside gc.c.
 *
 *     thread    innermost frames, as long as they are of MRI: the first whose self one can wait for
 *                   Mutex#sleep, then ConditionVariable#wait   -->  the ConditionVariable
 *     thread    of a Ractor that waits for a message, or for a taker  -->  the Ractor
 *     fiber     the frame of the scheduler's method `block`: its first argument
 *
 * Whoever waits with a timeout needs nobody else to go on. Such a thread only "sleeps" (texts.c);
 * such a fiber waits for nothing here. The timeout may be around the wait: a frame of the
 * scheduler's `timeout_after`, or of Async's `with_timeout`.
 *
 * Only its owner unlocks a Mutex. Marking does not tell the owner, so it is a weak reference.
 */
#include "gc/graph/form.h"
#include "gc/book/mri.h"
#include "iseq.h"

static bool
graph_typed_p(VALUE object)
{
    return object && !RB_SPECIAL_CONST_P(object) && RB_TYPE_P(object, T_DATA) &&
           RTYPEDDATA_P(object);
}

static bool
graph_mutex_p(VALUE object)
{
    return graph_typed_p(object) && strcmp(RTYPEDDATA_TYPE(object)->wrap_struct_name, "mutex") == 0;
}

static bool
graph_waited_for_p(VALUE object)
{
    static const char *const types[] = {
        "VM/thread", "mutex", "queue", "sized_queue", "condvar", "monitor", "ractor",
    };

    if (!graph_typed_p(object)) return false;
    for (size_t i = 0; i < numberof(types); i++) {
        if (strcmp(RTYPEDDATA_TYPE(object)->wrap_struct_name, types[i]) == 0) return true;
    }
    return false;
}

static bool
graph_named_p(ID id, const char *name)
{
    VALUE text = rb_id2str(id);

    return text && (size_t)RSTRING_LEN(text) == strlen(name) &&
           memcmp(RSTRING_PTR(text), name, strlen(name)) == 0;
}

/* True if MRI has written the method, in C or in Ruby. */
static bool
graph_builtin_p(const rb_control_frame_t *frame)
{
    static const char internal[] = "<internal:";

    if (!VM_FRAME_RUBYFRAME_P(frame)) return true;
    VALUE path = rb_iseq_path(frame->iseq);
    return RSTRING_LEN(path) >= (long)strlen(internal) &&
           memcmp(RSTRING_PTR(path), internal, strlen(internal)) == 0;
}

/* True if the frame's method is one of self's class, but not of Kernel; and does not just sleep
 * until somebody wakes the thread. */
static bool
graph_waiting_method_p(const rb_control_frame_t *frame)
{
    const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(frame);

    return method && method->owner && RB_TYPE_P(method->owner, T_CLASS) &&
           !graph_named_p(method->def->original_id, "sleep");
}

static VALUE
graph_awaited_by_thread(const rb_control_frame_t *frame, const rb_control_frame_t *end)
{
    for (; frame < end && graph_builtin_p(frame); frame = RUBY_VM_PREVIOUS_CONTROL_FRAME(frame)) {
        if (graph_waited_for_p(frame->self) && graph_waiting_method_p(frame)) return frame->self;
    }
    return 0;
}

static VALUE
graph_awaited_by_ractor(const rb_thread_t *thread)
{
    rb_ractor_t *ractor = thread->ractor;

    if (!ractor || ractor->sync.wait.waiting_thread != thread ||
        ractor->sync.wait.status & wait_taking) return 0;
    return rb_ractor_self(ractor);
}

/* The method of this scheduler that the frame is of; NULL if it is of none. */
static const rb_callable_method_entry_t *
graph_scheduler_method(const rb_control_frame_t *frame, VALUE scheduler)
{
    if (frame->self != scheduler || !VM_FRAME_RUBYFRAME_P(frame)) return NULL;
    if (ISEQ_BODY(frame->iseq)->type != ISEQ_TYPE_METHOD) return NULL;
    return rb_vm_frame_method_entry(frame);
}

/* block(blocker, timeout = nil): the blocker, unless it waits with a timeout or is free again. */
static VALUE
graph_blocker(const rb_control_frame_t *frame)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(frame->iseq);

    if (body->local_table_size < 2) return 0;
    const VALUE *locals = frame->ep - (VM_ENV_DATA_SIZE - 1) - body->local_table_size;
    if (!NIL_P(locals[1])) return 0;
    return graph_mutex_p(locals[0]) && !RTEST(rb_mutex_locked_p(locals[0])) ? 0 : locals[0];
}

static VALUE
graph_awaited_by_fiber(const rb_control_frame_t *frame, const rb_control_frame_t *end,
                       VALUE scheduler)
{
    VALUE blocker = 0;

    for (; frame < end; frame = RUBY_VM_PREVIOUS_CONTROL_FRAME(frame)) {
        const rb_callable_method_entry_t *method = graph_scheduler_method(frame, scheduler);
        if (!method) continue;
        ID id = method->def->original_id;
        if (graph_named_p(id, "timeout_after") || graph_named_p(id, "with_timeout")) return 0;
        if (!blocker && graph_named_p(id, "block")) blocker = graph_blocker(frame);
    }
    return blocker;
}

static void
graph_waits(struct heapprof_graph *graph, const rb_execution_context_t *ec)
{
    const rb_thread_t *thread = ec->thread_ptr;
    const rb_control_frame_t *end = (const rb_control_frame_t *)(ec->vm_stack + ec->vm_stack_size);
    VALUE awaited = 0;

    if (!thread) return;
    if (thread->ec != ec) {
        if (!NIL_P(thread->scheduler))
            awaited = graph_awaited_by_fiber(ec->cfp, end, thread->scheduler);
    }
    else if (thread->status == THREAD_STOPPED || thread->status == THREAD_STOPPED_FOREVER) {
        awaited = graph_awaited_by_thread(ec->cfp, end);
        if (!awaited) awaited = graph_awaited_by_ractor(thread);
    }
    if (!RB_SPECIAL_CONST_P(awaited)) graph_field(graph, "waits for", awaited);
}

/* ---- who has a Mutex ---- */

/* The thread that runs this fiber, or whose first one it is; NULL if there is none. The fiber may
 * have died with the Mutex locked. */
static const rb_thread_t *
graph_thread_of_fiber(const void *fiber)
{
    rb_ractor_t *ractor = NULL;
    const rb_thread_t *thread = NULL;

    ccan_list_for_each(&GET_VM()->ractor.set, ractor, vmlr_node) {
        ccan_list_for_each(&ractor->threads.set, thread, lt_node) {
            if (thread->root_fiber == fiber || (thread->ec && thread->ec->fiber_ptr == fiber)) {
                return thread;
            }
        }
    }
    return NULL;
}

static void
graph_mutex_owner(struct heapprof_graph *graph, VALUE object)
{
    if (!graph_mutex_p(object)) return;

    const struct mri_mutex *mutex = RTYPEDDATA_GET_DATA(object);
    const rb_thread_t *owner = mutex && mutex->fiber ? graph_thread_of_fiber(mutex->fiber) : NULL;
    if (owner) graph_edge(graph, HEAPPROF_DUMP_WEAK, graph_text_of(graph, "owner"), owner->self);
}
