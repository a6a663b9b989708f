/* code.c - names of what code, blocks, environments, threads and fibers refer to. Compiled
 * inside gc.c.
 *
 *     frame     self, code, block, and its environment: locals, method or scope, outer environment
 *     thread    its frames, each "x in Object#make at app.rb:12"; "waits for" (waits.c); all else
 *               on its stacks is STACK
 */
#include "gc/graph/form.h"
#include "iseq.h"
#include "internal/cont.h"
#include "os/resident.h"

/* ---- environments ---- */

static uint32_t
graph_local_name(struct heapprof_graph *graph, const rb_iseq_t *iseq, unsigned int i,
                 const char *where)
{
    char name[HEAPPROF_NAME_BYTES];
    VALUE text = rb_id2str(ISEQ_BODY(iseq)->local_table[i]);

    if (!text) return *where ? graph_text_of(graph, where + 1) : 0; /* an argument without a name */
    snprintf(name, sizeof(name), "%.*s%s", (int)RSTRING_LEN(text), RSTRING_PTR(text), where);
    return graph_text_of(graph, name);
}

/* values: one for each name in the table of locals. */
static void
graph_locals(struct heapprof_graph *graph, const rb_iseq_t *iseq, const VALUE *values, size_t count,
             const char *where)
{
    for (unsigned int i = 0; i < ISEQ_BODY(iseq)->local_table_size && i < count; i++) {
        graph_edge(graph, HEAPPROF_DUMP_LOCAL, graph_local_name(graph, iseq, i, where), values[i]);
    }
}

static void
graph_environment(struct heapprof_graph *graph, const rb_env_t *environment)
{
    const rb_iseq_t *iseq = environment->iseq;

    if (!environment->ep) return; /* the environment is being made */
    if (iseq && ISEQ_BODY(iseq))
        graph_locals(graph, iseq, environment->env, environment->env_size, "");
    graph_field(graph, "code", (VALUE)iseq);
    graph_field(graph, "method or scope", environment->ep[VM_ENV_DATA_INDEX_ME_CREF]);
    graph_field(graph, "outer environment", (VALUE)rb_vm_env_prev_env(environment));
    graph_field(graph, "itself", environment->ep[VM_ENV_DATA_INDEX_ENV]);
    VALUE block = environment->ep[VM_ENV_DATA_INDEX_SPECVAL]; /* an object or a tagged address */
    if (!RB_SPECIAL_CONST_P(block)) graph_field(graph, "block", block);
}

static void
graph_block(struct heapprof_graph *graph, const struct rb_block *block)
{
    switch (vm_block_type(block)) {
      case block_type_iseq:
      case block_type_ifunc:
        graph_field(graph, "self", block->as.captured.self);
        graph_field(graph, "code", block->as.captured.code.val);
        if (block->as.captured.ep) {
            graph_field(graph, "environment", block->as.captured.ep[VM_ENV_DATA_INDEX_ENV]);
        }
        break;
      case block_type_symbol: graph_field(graph, "symbol", block->as.symbol); break;
      case block_type_proc: graph_field(graph, "proc", block->as.proc); break;
    }
}

/* ---- code ---- */

/* Operands that are marked: literals, and the code of blocks. */
static void
graph_operands(struct heapprof_graph *graph, const struct rb_iseq_constant_body *body)
{
    for (unsigned int i = 0; i < body->iseq_size; i++) {
        VALUE operand = body->iseq_encoded[i];
        if (!RB_SPECIAL_CONST_P(operand) && graph_find_marked(graph, operand))
            graph_field(graph, "operand", operand);
    }
}

/* A call info that is packed into a number is no object. */
static void
graph_call_data(struct heapprof_graph *graph, const struct rb_iseq_constant_body *body)
{
    for (unsigned int i = 0; body->call_data && i < body->ci_size; i++) {
        VALUE info = (VALUE)body->call_data[i].ci;
        if (!RB_SPECIAL_CONST_P(info)) graph_field(graph, "call info", info);
        graph_field(graph, "call cache", (VALUE)body->call_data[i].cc);
    }
}

/* In the order of rb_iseq_mark_and_move_each_value. */
static void
graph_inline_storage(struct heapprof_graph *graph, const struct rb_iseq_constant_body *body)
{
    const union iseq_inline_storage_entry *entry = body->is_entries;

    if (!entry) return;
    entry += body->ivc_size; /* these have no objects */
    for (unsigned int i = 0; i < body->icvarc_size; i++, entry++) {
        const struct rb_cvar_class_tbl_entry *cache =
            ((const struct iseq_inline_cvar_cache_entry *)entry)->entry;
        if (cache) graph_field(graph, "class variable cache", cache->class_value);
    }
    for (unsigned int i = 0; i < body->ise_size; i++, entry++)
        graph_field(graph, "made once", entry->once.value);
    for (unsigned int i = 0; i < body->ic_size; i++, entry++) {
        graph_field(graph, "constant cache", (VALUE)entry->ic_cache.entry);
    }
}

static void
graph_other_code(struct heapprof_graph *graph, const struct rb_iseq_constant_body *body)
{
    const struct rb_iseq_param_keyword *keyword =
        body->param.flags.has_kw ? body->param.keyword : NULL;

    graph_field(graph, "code of the method", (VALUE)body->local_iseq);
    graph_field(graph, "code around it", (VALUE)body->parent_iseq);
    graph_field(graph, "code without options", (VALUE)body->mandatory_only_iseq);
    for (unsigned int i = 0; body->catch_table && i < body->catch_table->size; i++) {
        graph_field(graph, "code of a rescue or ensure",
                    (VALUE)UNALIGNED_MEMBER_PTR(body->catch_table, entries[i])->iseq);
    }
    for (int i = 0; keyword && keyword->default_values && i < keyword->num - keyword->required_num;
         i++) {
        VALUE value = keyword->default_values[i];
        if (!RB_SPECIAL_CONST_P(value)) graph_field(graph, "default of a keyword", value);
    }
}

static void
graph_code(struct heapprof_graph *graph, const rb_iseq_t *iseq)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);

    graph_field(graph, "wrapper", iseq->wrapper);
    if (!body) return;
    graph_field(graph, "label", body->location.label);
    graph_field(graph, "label of the method", body->location.base_label);
    graph_field(graph, "path", body->location.pathobj);
    graph_other_code(graph, body);
    graph_field(graph, "coverage", body->variable.coverage);
    graph_field(graph, "lines", body->variable.script_lines);
    graph_call_data(graph, body);
    graph_inline_storage(graph, body);
    if (body->iseq_encoded) graph_operands(graph, body);
}

/* ---- threads and fibers ---- */

/* Returns 0 if the line is not known: compiled code may leave a pc of other code. */
static int
graph_line(const rb_control_frame_t *frame)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(frame->iseq);
    size_t position = frame->pc ? (size_t)(frame->pc - body->iseq_encoded) : SIZE_MAX;

    if (position > body->iseq_size) return 0;
    return (int)rb_iseq_line_no(frame->iseq,
                                position ? position - 1 : 0); /* the pc is at the next one */
}

/* " in Object#make at app.rb:12" */
static void
graph_frame_text(const rb_control_frame_t *frame, char where[HEAPPROF_NAME_BYTES])
{
    const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(frame);
    char name[HEAPPROF_NAME_BYTES];
    size_t length;

    if (VM_FRAME_RUBYFRAME_P(frame)) {
        VALUE path = rb_iseq_path(frame->iseq);
        length = rb_heapprof_code_text(frame->iseq, method ? method->owner : 0, name);
        snprintf(where, HEAPPROF_NAME_BYTES, " in %.*s at %.*s:%d", (int)length, name,
                 (int)RSTRING_LEN(path), RSTRING_PTR(path), graph_line(frame));
    }
    else {
        length = method ? rb_heapprof_method_text((const rb_method_entry_t *)method, name) : 0;
        snprintf(where, HEAPPROF_NAME_BYTES, length ? " in %.*s" : " in C code", (int)length, name);
    }
}

static void
graph_frame_field(struct heapprof_graph *graph, const char *field, const char *where, VALUE value)
{
    char name[HEAPPROF_NAME_BYTES + 32];

    if (RB_SPECIAL_CONST_P(value)) return;
    snprintf(name, sizeof(name), "%s%s", field, where);
    graph_field(graph, name, value);
}

static void
graph_frame(struct heapprof_graph *graph, const rb_control_frame_t *frame)
{
    char where[HEAPPROF_NAME_BYTES];
    const VALUE *ep = frame->ep;

    graph_frame_text(frame, where);
    graph_frame_field(graph, "self", where, frame->self);
    graph_frame_field(graph, "code", where, (VALUE)frame->iseq);
    graph_frame_field(graph, "block", where, (VALUE)frame->block_code);
    if (VM_ENV_FLAGS(ep, VM_ENV_FLAG_ESCAPED)) {
        graph_frame_field(graph, "environment", where, ep[VM_ENV_DATA_INDEX_ENV]);
    }
    else if (VM_FRAME_RUBYFRAME_P(frame)) {
        unsigned int size = ISEQ_BODY(frame->iseq)->local_table_size;
        graph_locals(graph, frame->iseq, ep - (VM_ENV_DATA_SIZE - 1) - size, size, where);
    }
    if (VM_ENV_LOCAL_P(ep)) return;
    const VALUE *outer = VM_ENV_PREV_EP(ep);
    if (VM_ENV_FLAGS(outer, VM_ENV_FLAG_ESCAPED)) {
        graph_frame_field(graph, "outer environment", where, outer[VM_ENV_DATA_INDEX_ENV]);
    }
}

static enum rb_id_table_iterator_result
graph_local_by_name_i(ID id, VALUE value, void *data)
{
    struct heapprof_graph *graph = data;

    graph_edge(graph, HEAPPROF_DUMP_LOCAL, graph_id_name(graph, id), value);
    return ID_TABLE_CONTINUE;
}

static void
graph_context(struct heapprof_graph *graph, const rb_execution_context_t *ec)
{
    if (ec->vm_stack && ec->cfp) {
        const rb_control_frame_t *end =
            (const rb_control_frame_t *)(ec->vm_stack + ec->vm_stack_size);
        for (const rb_control_frame_t *frame = ec->cfp; frame < end;
             frame = RUBY_VM_PREVIOUS_CONTROL_FRAME(frame)) {
            graph_frame(graph, frame);
        }
        graph_waits(graph, ec);
    }
    graph_field(graph, "exception", ec->errinfo);
    graph_field(graph, "special variables", ec->root_svar);
    graph_field(graph, "fiber storage", ec->storage);
    if (ec->local_storage) rb_id_table_foreach(ec->local_storage, graph_local_by_name_i, graph);
}

static void
graph_thread(struct heapprof_graph *graph, const rb_thread_t *thread)
{
    graph_field(graph, "group", thread->thgroup);
    graph_field(graph, "value", thread->value);
    graph_field(graph, "name", thread->name);
    graph_field(graph, "main", thread->top_self);
    graph_field(graph, "scheduler", thread->scheduler);
    graph_field(graph, "last status", thread->last_status);
    graph_field(graph, "waits for", thread->locking_mutex);
    graph_field(graph, "interrupts", thread->pending_interrupt_queue);
    if (thread->invoke_type == thread_invoke_type_proc ||
        thread->invoke_type == thread_invoke_type_ractor_proc) {
        graph_field(graph, "block", thread->invoke_arg.proc.proc);
        graph_field(graph, "arguments", thread->invoke_arg.proc.args);
    }
    if (thread->ractor) graph_field(graph, "ractor", rb_ractor_self(thread->ractor));
    if (thread->root_fiber) graph_field(graph, "root fiber", rb_fiberptr_self(thread->root_fiber));
    if (!thread->ec) return;
    graph_field(graph, "current fiber", rb_fiberptr_self(thread->ec->fiber_ptr));
    graph_context(graph, thread->ec);
}

static void
graph_fiber(struct heapprof_graph *graph, struct rb_fiber_struct *fiber)
{
    graph_field(graph, "block", rb_heapprof_fiber_block(fiber));
    graph_field(graph, "resumed by", rb_heapprof_fiber_resumer(fiber));
    const rb_execution_context_t *ec = rb_fiberptr_get_ec(fiber);
    if (ec->thread_ptr) graph_field(graph, "thread", ec->thread_ptr->self);
    graph_context(graph, ec);
}

/* How many bytes of a thread's VM stack memsize_of counts, but nobody has touched. The pages where
 * its frames are have been touched: none at all means that the system does not tell. */
static size_t
graph_untouched_bytes(VALUE object)
{
    if (!RB_TYPE_P(object, T_DATA) || !RTYPEDDATA_P(object)) return 0;
    if (RTYPEDDATA_TYPE(object) != &ruby_threadptr_data_type) return 0;

    const rb_thread_t *thread = RTYPEDDATA_GET_DATA(object);
    if (!thread || thread->root_fiber || !thread->ec || !thread->ec->vm_stack) return 0;
    size_t bytes = thread->ec->vm_stack_size * sizeof(VALUE);
    size_t resident = rb_heapprof_resident_bytes((uintptr_t)thread->ec->vm_stack, bytes);
    return resident && resident < bytes ? bytes - resident : 0;
}

/* Both objects of each message; that of a taker is no object. */
static void
graph_ractor_queue(struct heapprof_graph *graph, const struct rb_ractor_queue *queue)
{
    for (int i = 0; i < queue->cnt; i++) {
        const struct rb_ractor_basket *basket = &queue->baskets[(queue->start + i) % queue->size];
        graph_field(graph, "sender", basket->sender);
        if (basket->type.e == basket_type_ref || basket->type.e == basket_type_copy ||
            basket->type.e == basket_type_move || basket->type.e == basket_type_will) {
            graph_field(graph, "message", basket->p.send.v);
        }
    }
}

static void
graph_ractor(struct heapprof_graph *graph, const rb_ractor_t *ractor)
{
    const rb_thread_t *thread = NULL;

    ccan_list_for_each(&ractor->threads.set, thread, lt_node)
        graph_field(graph, "thread", thread->self);
    graph_field(graph, "name", ractor->name);
    graph_field(graph, "where it was made", ractor->loc);
    graph_field(graph, "standard input", ractor->r_stdin);
    graph_field(graph, "standard output", ractor->r_stdout);
    graph_field(graph, "standard error", ractor->r_stderr);
    graph_ractor_queue(graph, &ractor->sync.recv_queue);
    graph_ractor_queue(graph, &ractor->sync.takers_queue);
    graph_field(graph, "lock", ractor->receiving_mutex);
    graph_field(graph, "lock", ractor->local_storage_store_lock);
    if (ractor->idkey_local_storage) {
        rb_id_table_foreach(ractor->idkey_local_storage, graph_local_by_name_i, graph);
    }
}

/* All marked references without a name are on a stack. */
static bool
graph_has_stack_p(VALUE object)
{
    return RTYPEDDATA_P(object) &&
           (RTYPEDDATA_TYPE(object) == &ruby_threadptr_data_type || rb_obj_is_fiber(object));
}

/* ---- by type ---- */

static void
graph_binding(struct heapprof_graph *graph, const rb_binding_t *binding)
{
    graph_block(graph, &binding->block);
    graph_field(graph, "path", binding->pathobj);
}

/* Names what an object of MRI's own T_DATA types refers to. Returns false if it is of another
 * type. */
static bool
graph_own_data(struct heapprof_graph *graph, VALUE object)
{
    void *data = RTYPEDDATA_GET_DATA(object);

    if (!data) return false;
    if (rb_obj_is_proc(object)) graph_block(graph, &((const rb_proc_t *)data)->block);
    else if (RTYPEDDATA_TYPE(object) == &ruby_binding_data_type) graph_binding(graph, data);
    else if (RTYPEDDATA_TYPE(object) == &ruby_threadptr_data_type) graph_thread(graph, data);
    else if (rb_obj_is_fiber(object)) graph_fiber(graph, data);
    else if (rb_ractor_p(object)) graph_ractor(graph, data);
    else return false;
    return true;
}
