/* caller.c - the trail of return addresses around us, and the C function on it that asked the
 * allocator. Compiled inside gc.c.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#ifdef HAVE_BACKTRACE
# include <execinfo.h>
#endif
#if defined(HAVE_BACKTRACE) && defined(__x86_64__) && defined(__linux__)
# define HEAPPROF_STEPS 1
#else
# define HEAPPROF_STEPS 0
#endif
#if defined(HAVE_BACKTRACE) && defined(__aarch64__)
# include <unwind.h>
# define HEAPPROF_UNWIND_IN_FIBER 1
#else
# define HEAPPROF_UNWIND_IN_FIBER 0
#endif

/* The return addresses around us, innermost first. */
struct addresses {
    uintptr_t all[40];
    size_t    count, most;
};

#if HEAPPROF_UNWIND_IN_FIBER
/* On AArch64, return addresses are signed if the processor can do that, and MRI's fibers begin with
 * one that is not. The unwinder would strip a signature from it that is not there, and read code at
 * the address that results. So it stops at a fiber's first function. */
HEAPPROF_COLD static _Unwind_Reason_Code
add_address_i(struct _Unwind_Context *context, void *data)
{
    struct addresses *addresses = data;

    addresses->all[addresses->count++] = (uintptr_t)_Unwind_GetIP(context);
    if (addresses->count == addresses->most ||
        (uintptr_t)_Unwind_GetRegionStart(context) == rb_heapprof_fiber_entry())
        return _URC_END_OF_STACK;
    return _URC_NO_REASON;
}
#endif

/* With memcheck the function that asked by way of MRI is looked for, and it is further out. */
HEAPPROF_COLD static struct addresses
take_addresses(void)
{
    struct addresses addresses = {
        .most = rb_heapprof.run.options.memcheck ? numberof(addresses.all) :
                                                   numberof(addresses.all) / 2,
    };
#if HEAPPROF_UNWIND_IN_FIBER
    _Unwind_Backtrace(add_address_i, &addresses);
#elif defined(HAVE_BACKTRACE)
    int count = backtrace((void **)addresses.all, (int)addresses.most);
    if (count > 0) addresses.count = (size_t)count;
#endif
    return addresses;
}

/* The first backtrace of a process loads the unwinder and asks the C library for memory. */
HEAPPROF_COLD void
rb_heapprof_gc_load_unwinder(void)
{
    take_addresses();
}

/* The caller of the allocator. own: how many of the innermost functions are the profiler's, from
 * take_addresses to the function that a gate calls. None of them is ever inlined. */
HEAPPROF_COLD static uintptr_t
find_caller(const struct addresses *addresses, size_t own)
{
    if (heapprof_thread.own_work) own++; /* the function that stands for the C library's */
    return rb_heapprof_callers_find(&rb_heapprof.tables.callers, addresses->all, addresses->count,
                                    own);
}
