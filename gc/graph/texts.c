/* texts.c - what tells an object from others of its class: the name of a class or method, the file
 * and line of code or of a block, and of a thread or fiber what it does. Compiled inside gc.c.
 *
 *     Proc      app.rb:7  of its block, or of the method that it calls;  &:upcase  of a symbol's
 *     Thread    worker.rb:12, sleeps for ever
 *     Fiber     worker.rb:20, suspended
 */
#include "gc/graph/form.h"
#include "gc/interpreter.h"
#include "internal/cont.h"

/* Of a place in a text, so that what follows it has room. */
#define GRAPH_PATH_BYTES 768
#define GRAPH_THREAD_NAME_BYTES 128

/* How often the block of a Proc may be another Proc. */
#define GRAPH_PROCS_MOST 32

/* ---- classes and code ---- */

/* The name of a class, or of the object that has this singleton class. */
static size_t
graph_class_text(VALUE klass, char text[HEAPPROF_NAME_BYTES])
{
    if (!RB_TYPE_P(klass, T_CLASS) || !RCLASS_SINGLETON_P(klass))
        return rb_heapprof_class_text(klass, text);

    VALUE attached = RCLASS_ATTACHED_OBJECT(klass);
    char name[HEAPPROF_NAME_BYTES];
    bool of_class = !RB_SPECIAL_CONST_P(attached) &&
                    (RB_TYPE_P(attached, T_CLASS) || RB_TYPE_P(attached, T_MODULE));
    VALUE named = of_class ? attached : rb_heapprof_real_class(klass);
    size_t length = named ? rb_heapprof_class_text(named, name) : 0;
    int written = snprintf(text, HEAPPROF_NAME_BYTES,
                           of_class ? "#<Class:%.*s>" : "#<Class:#<%.*s>>", (int)length, name);

    return written < HEAPPROF_NAME_BYTES ? (size_t)written : HEAPPROF_NAME_BYTES - 1;
}

static size_t
graph_code_text(const rb_iseq_t *iseq, char text[HEAPPROF_NAME_BYTES])
{
    if (!iseq->body || !iseq->body->location.label) return 0;

    size_t length = rb_heapprof_code_text(iseq, 0, text), room = HEAPPROF_NAME_BYTES - length;
    VALUE path = rb_iseq_path(iseq);
    int written = snprintf(text + length, room, " %.*s:%d", (int)RSTRING_LEN(path),
                           RSTRING_PTR(path), iseq->body->location.first_lineno);

    return length + ((size_t)written < room ? (size_t)written : room - 1);
}

static size_t
graph_imemo_text(VALUE object, char text[HEAPPROF_NAME_BYTES])
{
    switch (imemo_type(object)) {
      case imemo_iseq: return graph_code_text((const rb_iseq_t *)object, text);
      case imemo_ment:
        if (RB_SPECIAL_CONST_P(((const rb_method_entry_t *)object)->owner))
            return 0; /* an undefined method */
        return rb_heapprof_method_text((const rb_method_entry_t *)object, text);
      default: return 0;
    }
}

/* ---- blocks ---- */

/* "app.rb:7" */
static size_t
graph_place_text(VALUE path, int line, char text[HEAPPROF_NAME_BYTES])
{
    int length = RSTRING_LEN(path) < GRAPH_PATH_BYTES ? (int)RSTRING_LEN(path) : GRAPH_PATH_BYTES;

    return (size_t)snprintf(text, HEAPPROF_NAME_BYTES, "%.*s:%d", length, RSTRING_PTR(path), line);
}

static size_t
graph_code_place_text(const rb_iseq_t *iseq, char text[HEAPPROF_NAME_BYTES])
{
    if (!iseq || !iseq->body || !iseq->body->location.label) return 0;
    return graph_place_text(rb_iseq_path(iseq), iseq->body->location.first_lineno, text);
}

/* A symbol that was made at run time is data. */
static size_t
graph_symbol_block_text(const struct heapprof_graph *graph, VALUE symbol,
                        char text[HEAPPROF_NAME_BYTES])
{
    if (!RB_STATIC_SYM_P(symbol) && graph->values_bytes == 0) return 0;
    VALUE name = rb_sym2str(symbol);
    int length = RSTRING_LEN(name) < GRAPH_PATH_BYTES ? (int)RSTRING_LEN(name) : GRAPH_PATH_BYTES;
    return (size_t)snprintf(text, HEAPPROF_NAME_BYTES, "&:%.*s", length, RSTRING_PTR(name));
}

/* The Proc whose block is no Proc. Returns NULL if there is none. */
static const rb_proc_t *
graph_innermost_proc(VALUE object)
{
    for (int i = 0; i < GRAPH_PROCS_MOST; i++) {
        const rb_proc_t *proc = RTYPEDDATA_GET_DATA(object);
        if (!proc || vm_block_type(&proc->block) != block_type_proc) return proc;
        object = proc->block.as.proc;
    }
    return NULL;
}

/* Returns 0 for a block in C. */
static size_t
graph_proc_text(const struct heapprof_graph *graph, VALUE object, char text[HEAPPROF_NAME_BYTES])
{
    const rb_proc_t *proc = graph_innermost_proc(object);

    if (!proc) return 0;
    switch (vm_block_type(&proc->block)) {
      case block_type_iseq: return graph_code_place_text(proc->block.as.captured.code.iseq, text);
      case block_type_symbol: return graph_symbol_block_text(graph, proc->block.as.symbol, text);
      case block_type_proc: break;
      case block_type_ifunc:
        if (!proc->is_from_method) return 0;
        return graph_code_place_text(
            rb_method_iseq((VALUE)proc->block.as.captured.code.ifunc->data), text);
    }
    return 0;
}

static size_t
graph_binding_text(const rb_binding_t *binding, char text[HEAPPROF_NAME_BYTES])
{
    if (!binding || !binding->pathobj) return 0;
    return graph_place_text(pathobj_path(binding->pathobj), binding->first_lineno, text);
}

/* ---- threads and fibers ---- */

/* A thread that shares its native thread with others is STOPPED_FOREVER also while it waits for IO
 * or with a timeout. One that has been woken may be so until it runs. */
static const char *
graph_thread_state(const rb_thread_t *thread)
{
    switch (thread->status) {
      case THREAD_RUNNABLE: return "runs";
      case THREAD_STOPPED: return "sleeps";
      case THREAD_STOPPED_FOREVER:
        if (thread->ec && RUBY_VM_INTERRUPTED(thread->ec)) return "runs";
        return thread->sched.waiting_reason.flags ? "sleeps" : "sleeps for ever";
      case THREAD_KILLED: break;
    }
    return "has ended";
}

/* Where the block is that a thread or fiber was started with. */
static size_t
graph_start_text(const struct heapprof_graph *graph, VALUE proc, char text[HEAPPROF_NAME_BYTES])
{
    size_t length = proc && rb_obj_is_proc(proc) ? graph_proc_text(graph, proc, text) : 0;

    return length ? length : (size_t)snprintf(text, HEAPPROF_NAME_BYTES, "C code");
}

static size_t
graph_thread_start_text(const struct heapprof_graph *graph, const rb_thread_t *thread,
                        char text[HEAPPROF_NAME_BYTES])
{
    bool block = thread->invoke_type == thread_invoke_type_proc ||
                 thread->invoke_type == thread_invoke_type_ractor_proc;

    if (thread == GET_VM()->ractor.main_thread)
        return (size_t)snprintf(text, HEAPPROF_NAME_BYTES, "main");
    return graph_start_text(graph, block ? thread->invoke_arg.proc.proc : 0, text);
}

/* The name is data. */
static size_t
graph_thread_text(const struct heapprof_graph *graph, const rb_thread_t *thread,
                  char text[HEAPPROF_NAME_BYTES])
{
    if (!thread) return 0;

    size_t length = graph_thread_start_text(graph, thread, text);
    if (graph->values_bytes != 0 && RB_TYPE_P(thread->name, T_STRING)) {
        size_t most = (size_t)RSTRING_LEN(thread->name);
        if (most > graph->values_bytes) most = graph->values_bytes;
        if (most > GRAPH_THREAD_NAME_BYTES) most = GRAPH_THREAD_NAME_BYTES;
        length += (size_t)sprintf(text + length, " (%.*s)", (int)most, RSTRING_PTR(thread->name));
    }
    return length + (size_t)sprintf(text + length, ", %s", graph_thread_state(thread));
}

/* The root fiber of a thread has no block of its own. */
static size_t
graph_fiber_text(const struct heapprof_graph *graph, struct rb_fiber_struct *fiber,
                 char text[HEAPPROF_NAME_BYTES])
{
    const rb_thread_t *thread = fiber ? rb_fiberptr_get_ec(fiber)->thread_ptr : NULL;

    if (!thread) return 0;
    size_t length = thread->root_fiber == fiber
                        ? graph_thread_start_text(graph, thread, text)
                        : graph_start_text(graph, rb_heapprof_fiber_block(fiber), text);
    return length + (size_t)sprintf(text + length, ", %s", rb_heapprof_fiber_state(fiber));
}

static size_t
graph_data_text(const struct heapprof_graph *graph, VALUE object, char text[HEAPPROF_NAME_BYTES])
{
    if (!RTYPEDDATA_P(object)) return 0;
    if (rb_obj_is_proc(object)) return graph_proc_text(graph, object, text);

    void *data = RTYPEDDATA_GET_DATA(object);
    if (RTYPEDDATA_TYPE(object) == &ruby_binding_data_type) return graph_binding_text(data, text);
    if (RTYPEDDATA_TYPE(object) == &ruby_threadptr_data_type)
        return graph_thread_text(graph, data, text);
    return rb_obj_is_fiber(object) ? graph_fiber_text(graph, data, text) : 0;
}

/* ---- all ---- */

/* The name of the object as a string of the file. Returns 0 if it has none. */
static uint32_t
graph_object_text(struct heapprof_graph *graph, VALUE object)
{
    char text[HEAPPROF_NAME_BYTES];
    size_t length = 0;

    switch (RB_BUILTIN_TYPE(object)) {
      case T_CLASS:
      case T_MODULE: length = graph_class_text(object, text); break;
      case T_ICLASS:
        if (RBASIC_CLASS(object)) length = graph_class_text(RBASIC_CLASS(object), text);
        break;
      case T_IMEMO: length = graph_imemo_text(object, text); break;
      case T_DATA: length = graph_data_text(graph, object, text); break;
      case T_SYMBOL:
        if (graph->values_bytes) return graph_id_name(graph, RSYMBOL(object)->id);
        break;
      case T_FLOAT:
        if (graph->values_bytes)
            length = (size_t)snprintf(text, sizeof(text), "%.17g", RFLOAT_VALUE(object));
        break;
      default: return 0;
    }
    return rb_heapprof_dump_string(&graph->writer, text, length);
}
