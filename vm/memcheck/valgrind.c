/* valgrind.c - what a process under Valgrind tells Valgrind, and asks of it.
 *
 *     each call and return of a C method    more errors than before: the Ruby stack
 *                                           (<clientmsg> in the XML, behind the errors)
 *     at_exit blocks have run               methods of extensions, by their C functions
 *     the VM is gone                        a search for lost blocks, and a list of them
 *
 * An error of a C method shows at the next call that it makes, or when it returns. So the stack
 * is that of the method. Valgrind counts errors of all threads together: each thread compares the
 * count with the one it saw last. The reader (memcheck/valgrind/xml.c) gives a stack only to
 * errors of the same thread. What the interpreter itself does between two calls has no stack of
 * its own. The reader knows it by its C functions.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "vm/names/symbol_names.h"
#include "vm/memcheck/valgrind.h"

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include "vm/memcheck/message.h"
# include "vm/memcheck/touches.h"
# include "vm/names/frames.h"
# include "gc/book/state.h"
# include "id_table.h"
# include "internal/class.h"
# include "internal/error.h"
# include "internal/gc.h"
# include "method.h"
# include "vm/names/names.h"
# include "ruby/heapprof.h"
# include "vm/names/symbols.h"
# include "vm_core.h"
# include "vm_sync.h"
# include <valgrind/memcheck.h>

# define MESSAGES_MOST 10000  /* of a process; an error in a loop has its stack long before that */

bool
rb_heapprof_valgrind_p(void)
{
    return RUNNING_ON_VALGRIND != 0;
}

/* ---- the Ruby stack at an error ---- */

static __thread unsigned errors_seen; /* the count, of all threads, that this thread saw last */
static unsigned stacks_sent;

/* A method that has returned is off the stack, unless an exception has left it. */
static bool
returned_p(const rb_execution_context_t *ec, const rb_trace_arg_t *arg)
{
    const rb_callable_method_entry_t *method =
        ec->cfp->iseq ? NULL : rb_vm_frame_method_entry(ec->cfp);

    if (arg->event != RUBY_EVENT_C_RETURN) return false;
    return !method || method->def->original_id != arg->id || method->owner != arg->klass;
}

/* arg is NULL if no method is called or returns. */
static void
send_stack(const rb_execution_context_t *ec, const rb_trace_arg_t *arg)
{
    char name[HEAPPROF_NAME_BYTES + 1];
    struct heapprof_message message;

    rb_heapprof_message_begin(&message, "stack");
    RB_VM_LOCK_ENTER();
    rb_heapprof_gc_begin_change();
    rb_heapprof_touches_tell();
    uint32_t stack = rb_heapprof_frames_capture(ec);
    if (stack != HEAPPROF_NO_STACK) {
        if (arg && returned_p(ec, arg)) {
            name[rb_heapprof_called_text(arg->klass, arg->id, name)] = '\0';
            rb_heapprof_message_add_frame(&message, name, stack);
        }
        rb_heapprof_message_add_stack(&message, stack);
    }
    rb_heapprof_gc_end_change();
    RB_VM_LOCK_LEAVE();
    rb_heapprof_message_send(&message);
}

static void
tell_errors(const rb_execution_context_t *ec, const rb_trace_arg_t *arg)
{
    unsigned errors = VALGRIND_COUNT_ERRORS;

    if (errors == errors_seen) return;
    errors_seen = errors;
    if (!rb_heapprof_running_p() || stacks_sent == MESSAGES_MOST) return;
    stacks_sent++;
    bool own_work = rb_heapprof_gc_begin_own_work();
    send_stack(ec, arg);
    rb_heapprof_gc_end_own_work(own_work);
}

static void
call_i(VALUE unused, const rb_trace_arg_t *arg)
{
    tell_errors(arg->ec, arg);
}

/* A use of a dead object may be what Ruby crashes of. */
static void
crash_i(FILE *out, void *unused)
{
    if (GET_EC()) tell_errors(GET_EC(), NULL);
}

void
rb_heapprof_valgrind_start(void)
{
    if (!rb_heapprof_valgrind_p()) return;
    rb_add_event_hook2((rb_event_hook_func_t)call_i, RUBY_EVENT_C_CALL | RUBY_EVENT_C_RETURN, Qnil,
                       RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
    if (rb_heapprof_touches_start()) rb_bug_reporter_add(crash_i, NULL);
}

/* ---- the methods of extensions ---- */

struct method {
    uintptr_t function;
    VALUE owner;
    ID    id;
};

struct methods {
    struct heapprof_mem mem;
    struct method *all;
    size_t capacity, count;
};

static enum rb_id_table_iterator_result
method_i(VALUE value, void *data)
{
    const rb_method_entry_t *entry = (const rb_method_entry_t *)value;
    struct methods *methods = data;

    if (!entry->def || entry->def->type != VM_METHOD_TYPE_CFUNC) return ID_TABLE_CONTINUE;
    uintptr_t function = (uintptr_t)UNALIGNED_MEMBER_PTR(entry->def, body.cfunc)->func;
    if (rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, function)) return ID_TABLE_CONTINUE;
    if (!HEAPPROF_MEM_GROW(&methods->mem, methods->all, methods->capacity, methods->count + 1))
        return ID_TABLE_STOP;
    methods->all[methods->count++] =
        (struct method){ function, entry->owner, entry->def->original_id };
    return ID_TABLE_CONTINUE;
}

static int
page_i(void *start, void *end, size_t stride, void *data)
{
    for (VALUE object = (VALUE)start; object != (VALUE)end; object += stride) {
        int type = RB_BUILTIN_TYPE(object);
        if ((type == T_CLASS || type == T_MODULE || type == T_ICLASS) &&
            !rb_objspace_garbage_object_p(object) && RCLASS_M_TBL(object)) {
            rb_id_table_foreach_values(RCLASS_M_TBL(object), method_i, data);
        }
    }
    return 0;
}

static int
compare(const void *left, const void *right)
{
    const struct method *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

/* The methods of one C function. A module's are also in each class that includes it, with the
 * same owner. */
static void
add_methods(struct heapprof_message *message, const struct methods *methods, uintptr_t function,
            const struct heapprof_symbol_name *symbol)
{
    char name[HEAPPROF_NAME_BYTES + 1];
    size_t low = 0, high = methods->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (methods->all[middle].function < function) low = middle + 1;
        else high = middle;
    }
    for (; low < methods->count && methods->all[low].function == function; low++) {
        name[rb_heapprof_called_text(methods->all[low].owner, methods->all[low].id, name)] = '\0';
        if (rb_heapprof_message_add(message, symbol->library, symbol->function, name)) continue;
        rb_heapprof_message_send(message);
        rb_heapprof_message_begin(message, "methods");
        rb_heapprof_message_add(message, symbol->library, symbol->function, name);
    }
}

static void
send_methods(const struct methods *methods)
{
    struct heapprof_symbols symbols;
    struct heapprof_symbol_name symbol;
    struct heapprof_message message;

    rb_heapprof_symbols_init(&symbols);
    for (size_t i = 0; i < methods->count; i++) {
        bool again = i > 0 && methods->all[i].function == methods->all[i - 1].function;
        if (!again && !rb_heapprof_symbols_add(&symbols, methods->all[i].function + 1)) break;
    }
    rb_heapprof_symbols_locate(&symbols);
    rb_heapprof_symbols_read_files(&symbols);
    rb_heapprof_symbols_ask_exports(&symbols);
    rb_heapprof_message_begin(&message, "methods");
    for (size_t i = 0; i < symbols.count; i++) {
        rb_heapprof_symbols_name(&symbols, i, &symbol);
        if (symbol.function[0])
            add_methods(&message, methods, rb_heapprof_symbols_address(&symbols, i) - 1, &symbol);
    }
    rb_heapprof_message_send(&message);
    rb_heapprof_symbols_free(&symbols);
}

void
rb_heapprof_valgrind_stop(void)
{
    struct methods methods = {.count = 0};

    if (!rb_heapprof_valgrind_p()) return;
    rb_remove_event_hook((rb_event_hook_func_t)call_i);
    rb_heapprof_touches_tell();
    bool own_work = rb_heapprof_gc_begin_own_work();
    rb_heapprof_mem_init(&methods.mem, SIZE_MAX);
    rb_objspace_each_objects(page_i, &methods);
    if (methods.count > 0) qsort(methods.all, methods.count, sizeof(*methods.all), compare);
    send_methods(&methods);
    HEAPPROF_MEM_RELEASE(&methods.mem, methods.all, methods.capacity);
    rb_heapprof_gc_end_own_work(own_work);
}

/* ---- what is lost ---- */

static void
hide_tables(bool hide)
{
    for (int i = 0; i < HEAPPROF_MEM_BLOCKS; i++) {
        const struct heapprof_mem_block *block = &rb_heapprof.mem.blocks[i];
        if (hide) VALGRIND_MAKE_MEM_NOACCESS(block->address, block->bytes);
        else VALGRIND_MAKE_MEM_DEFINED(block->address, block->bytes);
    }
}

/* Valgrind searches by itself, and lists lost blocks by address; our file has the same addresses.
 * Our tables contain them, too, so Valgrind is told not to look there. Nothing may be freed
 * between the two requests. */
void
rb_heapprof_valgrind_find_lost(void)
{
    if (!rb_heapprof_valgrind_p()) return;
    hide_tables(true);
    VALGRIND_DO_LEAK_CHECK;
    VALGRIND_MONITOR_COMMAND("block_list 1..2147483647 unlimited");
    hide_tables(false);
}

#else

bool rb_heapprof_valgrind_p(void) { return false; }
void rb_heapprof_valgrind_start(void) {}
void rb_heapprof_valgrind_stop(void) {}
void rb_heapprof_valgrind_find_lost(void) {}

#endif
