/* use.c - somebody uses a dead object: who, whose was it, and who collected it? Compiled inside
 * gc.c.
 *
 *     fault (fault.c) --> this thread has the GVL:  note_use, with both stacks, at once
 *                     --> it has not:               waits for the next GC, without a Ruby stack
 *
 * note_use runs in a handler of SIGSEGV. But the fault is at an access to an object, so the thread
 * is in the middle of no other work of the profiler's (touch asks for that), nor of an allocator.
 *
 * The first function is the one whose instruction it was; it is MRI's if an extension has given the
 * object to MRI. So the caller is looked for as for a request of memory (gc/blocks/path.c).
 */
#include "gc/uses/uses.h"
#include "gc/quarantine/quarantine.h"
#include "profiler/uses.h"

/* What a handler of faults knows. */
struct fault {
    uintptr_t address, instruction;
    enum heapprof_access access;
};

/* Uses without the GVL, in a ring: old ones are lost. */
static struct {
    struct fault all[64];
    rb_atomic_t begun, noted; /* how many there were; how many are noted */
} waiting_uses;

/* From the instruction outwards. Around it are the handler, and what called that. An instruction is
 * told as a return address, which is behind it. */
HEAPPROF_COLD static struct addresses
addresses_from(uintptr_t instruction)
{
    struct addresses around = take_addresses();
    struct addresses found = { .all = { instruction + 1 }, .count = 1, .most = around.most };
    size_t at = 0;

    while (at < around.count && around.all[at] != instruction) at++;
    for (at++; at < around.count; at++) found.all[found.count++] = around.all[at];
    return found;
}

/* A function is one user, wherever in it the access is. */
HEAPPROF_COLD static uintptr_t
whole_function(uintptr_t word)
{
    uintptr_t function = function_at(word);
    return function ? function + 1 : word;
}

HEAPPROF_COLD static uint32_t
path_of_use(const struct addresses *addresses, const rb_execution_context_t *ec)
{
    struct asking user = asking_outwards(addresses, 0);

    if (ec) add_method(&user, ec);
    for (size_t i = 0; i < user.caller_count; i++)
        user.callers[i] = whole_function(user.callers[i]);
    return path_with_caller(c_path_of(&user), identity_of_caller(whole_function(user.caller)));
}

/* In a change, under the VM lock. ec is NULL if the fault is over. */
HEAPPROF_COLD static void
note_use(const struct fault *fault, uint32_t c_path, const rb_execution_context_t *ec)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    const struct heapprof_dead_object *object =
        rb_heapprof_dead_objects_find(&tables->dead_objects, fault->address);
    uint32_t stack = ec ? rb_heapprof_frames_capture(ec) : 0;

    struct heapprof_use use = {
        .used = { .stack = stack == HEAPPROF_NO_STACK ? 0 : stack, .c_path = c_path },
        .access = fault->access,
    };
    if (object) {
        use.object = *object;
        use.gc = tables->dead_objects.gcs[object->gc];
    }
    rb_heapprof_uses_add(&tables->uses, &use);
}

/* Returns false if the thread cannot enter the VM lock. */
HEAPPROF_COLD static bool
note_use_now(const struct fault *fault)
{
#if HEAPPROF_CAN_INTERPOSE
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    unsigned int lev;

    if (!ec || !ruby_native_thread_p() || !has_gvl_p(ec) || !try_vm_lock(&lev)) return false;
    struct addresses addresses = addresses_from(fault->instruction);
    begin_change();
    note_use(fault, path_of_use(&addresses, ec), ec);
    end_change();
    rb_gc_vm_unlock_no_barrier(lev);
    return true;
#else
    return false; /* nobody comes here: memcheck needs malloc=all */
#endif
}

HEAPPROF_COLD static void
use_found(const struct fault *fault)
{
    if (note_use_now(fault)) return;
    rb_atomic_t number = RUBY_ATOMIC_FETCH_ADD(waiting_uses.begun, 1);
    waiting_uses.all[number % numberof(waiting_uses.all)] = *fault;
}

/* In a change. */
HEAPPROF_COLD static void
settle_uses(void)
{
    rb_atomic_t begun = RUBY_ATOMIC_LOAD(waiting_uses.begun);

    for (; waiting_uses.noted != begun; waiting_uses.noted++) {
        const struct fault *fault =
            &waiting_uses.all[waiting_uses.noted % numberof(waiting_uses.all)];
        const struct addresses addresses = { .all = { fault->instruction + 1 }, .count = 1 };
        if (begun - waiting_uses.noted > numberof(waiting_uses.all))
            rb_heapprof.tables.uses.unknown++;
        else note_use(fault, path_of_use(&addresses, NULL), NULL);
    }
}

HEAPPROF_COLD static void
rb_heapprof_uses_begun(rb_objspace_t *objspace)
{
    begin_change();
    if (!rb_heapprof.run.ending) settle_uses();
    quarantine_begun(objspace);
    end_change();
}
