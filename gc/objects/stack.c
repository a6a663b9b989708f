/* stack.c - what a sample needs of the stacks: the call stack as a number, and room on the
 * machine stack to walk it. Compiled inside gc.c.
 *
 * Under the VM lock, except for the questions about room. No xmalloc, no Ruby allocation, no
 * raise.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"

/* ---- the call stack ---- */

HEAPPROF_COLD static uint32_t
capture_stack(void)
{
    uint32_t stack;

    do {
        stack = rb_heapprof_frames_capture(GET_EC());
    } while (stack == HEAPPROF_NO_STACK && rb_heapprof_gc_make_room());
    return stack;
}

/* ---- room on the machine stack ---- */

/* True on an alternate signal stack. There MRI makes the SystemStackError when the machine
 * stack has run out. */
HEAPPROF_COLD static bool
on_signal_stack_p(void)
{
#ifdef HAVE_SIGALTSTACK
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
#else
    return false;
#endif
}

/* When the machine stack runs out, the handler of SIGSEGV jumps out to a SystemStackError
 * (check_stack_overflow in signal.c). With our lock held that would hang, and leave a table
 * half changed. So the stack that a sample needs (4 KB at most) is touched before. It is
 * touched page by page, because the guard may be one page, and in a frame with a frame pointer,
 * by which the handler knows an overflow. */
HEAPPROF_COLD static void
probe_stack(void)
{
    enum { page = 4096, pages = 3 };
    volatile char room[pages * page];
    volatile char *frame = __builtin_frame_address(0);

    for (size_t i = pages; i-- > 0; ) room[i * page] = 0;
    (void)frame;
    (void)room[0];
}

/* True if the interpreter holds the VM lock, which a jump out would not give back: MRI then waits
 * for ever in rb_ec_vm_lock_rec_release. A page of slots is fetched so, even with one ractor. */
HEAPPROF_COLD static bool
locked_by_interpreter_p(const rb_execution_context_t *ec)
{
    return !ec->tag || rb_ec_vm_lock_rec(ec) != ec->tag->lock_rec;
}

/* A main thread has more stack than MRI assumes, so this is only a reason to look. */
__attribute__((always_inline)) static inline bool
stack_low_p(const rb_execution_context_t *ec, size_t plenty)
{
    uintptr_t used = (uintptr_t)ec->machine.stack_start - (uintptr_t)__builtin_frame_address(0);
    return used + plenty > ec->machine.stack_maxsize;
}

/* Whether a sample has room on a stack that is low. Where jumping out harms nobody, it is certain
 * to have it: the overflow happens here, or not at all. Elsewhere, what MRI assumes is left. */
HEAPPROF_COLD static bool
room_on_low_stack_p(const rb_execution_context_t *ec, bool may_jump)
{
    enum { least = 8 * 1024 };

    if (on_signal_stack_p()) return true;
    if (!may_jump || locked_by_interpreter_p(ec)) return !stack_low_p(ec, least);
    probe_stack();
    return true;
}

/* Whether a sample has room on the machine stack. */
__attribute__((always_inline)) static inline bool
room_on_stack_p(const rb_execution_context_t *ec, bool may_jump)
{
    enum { plenty = 64 * 1024 };
    return !stack_low_p(ec, plenty) || room_on_low_stack_p(ec, may_jump);
}
