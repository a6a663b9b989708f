/* text.c - what is printed of a missed write barrier: parent, child, function, and the Ruby stack.
 *
 * It may be printed inside a GC: nothing here makes a Ruby object, or calls an allocator.
 */
#include "ruby/ruby.h"
#include "vm/wbcheck/text.h"
#include "gc/book/state.h"
#include "gc/wbcheck/wbcheck.h"
#include "internal/class.h"
#include "internal/error.h"
#include "internal/gc.h"
#include "internal/imemo.h"
#include "iseq.h"
#include "vm/names/names.h"
#include "profiler/snapshot.h"
#include "vm_core.h"

#define NAME_BYTES 256
#define ALLOCATED_FRAMES 3 /* of an object's allocation */

static void
class_text(VALUE klass, char *text, size_t size)
{
    char name[HEAPPROF_NAME_BYTES];

    snprintf(text, size, "%.*s", (int)rb_heapprof_class_text(klass, name), name);
}

static void
called_text(VALUE owner, ID id, char *text, size_t size)
{
    char name[HEAPPROF_NAME_BYTES];

    snprintf(text, size, "%.*s", (int)rb_heapprof_called_text(owner, id, name), name);
}

/* The class of an object, or its type if it is hidden from Ruby. For a class, its own name, too. */
static void
object_text(VALUE object, char *text, size_t size)
{
    int type = RB_BUILTIN_TYPE(object);
    /* An imemo has another word where objects have their class. */
    VALUE klass = type == T_IMEMO ? 0 : rb_heapprof_real_class(object);
    char name[NAME_BYTES] = "";

    if (type == T_CLASS || type == T_MODULE) class_text(object, name, sizeof(name));
    if (klass) class_text(klass, text, size);
    if (type == T_IMEMO) snprintf(text, size, "T_IMEMO(%s)", rb_imemo_name(imemo_type(object)));
    else if (type == T_ICLASS || !klass) snprintf(text, size, "%s", rb_builtin_type_name(type));
    else if (*name) snprintf(text + strlen(text), size - strlen(text), " %s", name);
}

static void
parent_text(VALUE parent, VALUE child, char *text, size_t size)
{
    object_text(parent, text, size);
    if (RB_BUILTIN_TYPE(parent) != T_DATA || !RTYPEDDATA_P(parent)) return;
    long offset = rb_heapprof_gc_wbcheck_offset(parent, child);
    size_t length = strlen(text);

    snprintf(text + length, size - length, offset < 0 ? " (%s)" : " (%s+0x%lx)",
             RTYPEDDATA_TYPE(parent)->wrap_struct_name, offset);
}

/* Writes the name of the C function that a stack begins with, or nothing if it begins with Ruby
 * code. text is empty. */
static void
innermost_function(const char *stack, char *text, size_t size)
{
    static const char begin[] = "    in '";
    const char *name = stack + sizeof(begin) - 1, *end = strchr(stack, '\n');

    if (!end || strncmp(stack, begin, sizeof(begin) - 1) != 0) return;
    snprintf(text, size, "%.*s", (int)(end - 1 - name), name);
}

void
rb_heapprof_wbcheck_what(const struct heapprof_missed *missed, const rb_trace_arg_t *call,
                         char *text, size_t size)
{
    char parent[NAME_BYTES], child[NAME_BYTES], function[NAME_BYTES] = "";

    parent_text(missed->parent, missed->child, parent, sizeof(parent));
    object_text(missed->child, child, sizeof(child));
    int length = snprintf(text, size, "%s -> %s", parent, child);
    if (missed->stack) innermost_function(missed->stack, function, sizeof(function));
    else if (call) called_text(call->klass, call->id, function, sizeof(function));
    if (*function && (size_t)length < size) {
        length += snprintf(text + length, size - (size_t)length, ", in %s", function);
    }
    if (missed->early && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length,
                 "; a barrier came before the store, and a GC may come between");
    }
}

/* Writes a line of a backtrace. Returns 0 if the frame is not of a method. */
static int
frame_text(const rb_control_frame_t *cfp, char *text, size_t size)
{
    const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(cfp);
    char name[HEAPPROF_NAME_BYTES], function[NAME_BYTES];

    if (VM_FRAME_RUBYFRAME_P(cfp) && cfp->pc) {
        int length = (int)rb_heapprof_code_text(cfp->iseq, method ? method->owner : 0, name);
        snprintf(function, sizeof(function), "%.*s", length, name);
        return snprintf(text, size, "    %s:%d:in '%s'\n", RSTRING_PTR(rb_iseq_path(cfp->iseq)),
                        rb_vm_get_sourceline(cfp), function);
    }
    if (!method || method->def->type != VM_METHOD_TYPE_CFUNC) return 0;
    called_text(method->owner, method->def->original_id, function, sizeof(function));
    return snprintf(text, size, "    in '%s'\n", function);
}

void
rb_heapprof_wbcheck_stack(char *text, size_t size)
{
    const rb_execution_context_t *ec = GET_EC();
    const rb_control_frame_t *end = RUBY_VM_NEXT_CONTROL_FRAME(RUBY_VM_END_CONTROL_FRAME(ec));
    size_t length = 0;

    text[0] = '\0';
    for (const rb_control_frame_t *cfp = ec->cfp; cfp && cfp < end;
         cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp)) {
        size_t added = (size_t)frame_text(cfp, text + length, size - length);
        if (added >= size - length) break;
        length += added;
    }
    text[length] = '\0';
}

void
rb_heapprof_wbcheck_allocated(VALUE object, char *text, size_t size)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_frame frames[ALLOCATED_FRAMES];
    size_t unused, count, length = 0;

    text[0] = '\0';
    count = rb_heapprof_stack_frames(&tables->stacks, &tables->functions,
                                     rb_heapprof_gc_stack_of(object), frames, ALLOCATED_FRAMES);
    for (size_t i = 0; i < count && i < ALLOCATED_FRAMES; i++) {
        int added = snprintf(text + length, size - length, "    %s:%u:in '%s'\n",
                             rb_heapprof_strings_get(&tables->strings, frames[i].path, &unused),
                             frames[i].line,
                             rb_heapprof_strings_get(&tables->strings, frames[i].name, &unused));
        if ((size_t)added >= size - length) break;
        length += (size_t)added;
    }
    text[length] = '\0';
}
