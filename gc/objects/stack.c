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

/* A main thread has more stack than MRI assumes, so this is only a reason to look. */
HEAPPROF_COLD static bool
stack_low_p(const rb_execution_context_t *ec)
{
    enum { plenty = 64 * 1024 };
    uintptr_t used = (uintptr_t)ec->machine.stack_start - (uintptr_t)__builtin_frame_address(0);
    return used + plenty > ec->machine.stack_maxsize;
}

/* When the machine stack runs out, the handler of SIGSEGV jumps out to a SystemStackError
 * (check_stack_overflow in signal.c). With the lock held that would hang, and leave a table
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
