/* marked.c - notes that a mark function gives a dead object to the collector. The list of guests
 * names somebody who moved away. Compiled inside gc.c.
 *
 *     dmark --> rb_gc_mark(dead) --> push_mark_stack --> held back: noted, and the mark taken back
 *                                                    '-> a free slot: MRI ends with a [BUG]
 *
 * So what MRI only crashes of is found: an object that dmark has not marked before, whose move
 * dcompact has missed, or that was stored without a write barrier. The program goes on.
 *
 * The user is the innermost function of an extension inside the mark function. A mark function that
 * jumps to rb_gc_mark is not on the stack. It is known of the object that is being marked, if that
 * is old; otherwise the user is the collector. Who has started the GC is innocent.
 *
 * In a GC, under the VM lock.
 */
#include "gc/uses/uses.h"
#include "gc/quarantine/quarantine.h"
#include "profiler/uses.h"

/* As if it had not been marked: see gc_mark. */
HEAPPROF_COLD static void
take_mark_back(rb_objspace_t *objspace, VALUE object)
{
    CLEAR_IN_BITMAP(GET_HEAP_MARK_BITS(object), object);
    CLEAR_IN_BITMAP(GET_HEAP_MARKING_BITS(object), object);
    if (!gc_config_full_mark_val) return; /* gc_aging has done nothing */
    RVALUE_AGE_RESET(object);
    objspace->marked_slots--;
}

/* The mark function of an extension's object, or its type; or 0. */
HEAPPROF_COLD static uintptr_t
mark_code_of(VALUE object)
{
    uintptr_t code;

    if (!object || !RB_TYPE_P(object, T_DATA)) return 0;
    if (!RTYPEDDATA_P(object)) code = (uintptr_t)RDATA(object)->dmark;
    else {
        const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
        bool declares = type->flags & RUBY_TYPED_DECL_MARKING; /* then dmark is a list */
        code = declares ? (uintptr_t)type : (uintptr_t)type->function.dmark;
    }
    return foreign_code_p(code) ? code : 0;
}

HEAPPROF_COLD static uint32_t
path_of_mark(const rb_objspace_t *objspace)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;
    struct addresses addresses = take_addresses();
    size_t end = 0;

    while (end < addresses.count &&
           rb_heapprof_callers_role(callers, addresses.all[end]) != HEAPPROF_ROLE_MARKER)
        end++;
    uintptr_t marker = end < addresses.count ? addresses.all[end] : 0;
    addresses.count = end;
    struct asking user = asking_outwards(&addresses, 0);
    if (end == 0 || rb_heapprof_callers_core_p(callers, user.caller)) {
        uintptr_t mark_code = mark_code_of(objspace->rgengc.parent_object);
        user.caller = mark_code ? mark_code + 1 : marker;
    }
    return path_with_caller(c_path_of(&user), identity_of_caller(whole_function(user.caller)));
}

/* Where Valgrind is, it reports an access, with its own stack. */
HEAPPROF_COLD static bool
rb_heapprof_uses_marked(VALUE object)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (!rb_heapprof_quarantine_held_p(GET_HEAP_PAGE(object), object)) return false;
    if (quarantine_by_valgrind_p()) (void)*(volatile VALUE *)(object + sizeof(VALUE));
    else if (rb_heapprof.run.options.memcheck) {
        const struct fault fault = { .address = object, .access = HEAPPROF_READ };
        begin_change();
        note_use(&fault, path_of_mark(objspace), rb_current_execution_context(false));
        end_change();
    }
    else return false;
    take_mark_back(objspace, object);
    return true;
}
