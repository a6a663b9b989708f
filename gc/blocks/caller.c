/* caller.c - the trail of return addresses around us, and the C function on it that asked the
 * allocator. Compiled inside gc.c.
 */
#include "gc/book/state.h"
#ifdef HAVE_BACKTRACE
# include <execinfo.h>
#endif
#if defined(HAVE_BACKTRACE) && defined(__x86_64__) && defined(__linux__)
# define HEAPPROF_STEPS 1
#else
# define HEAPPROF_STEPS 0
#endif

/* The return addresses around us, innermost first. */
struct addresses {
    uintptr_t all[40];
    size_t    count;
};

/* With memcheck the function that asked by way of MRI is looked for, and it is further out. */
HEAPPROF_COLD static struct addresses
take_addresses(void)
{
    struct addresses addresses = { .count = 0 };
#ifdef HAVE_BACKTRACE
    int most =
        rb_heapprof.run.options.memcheck ? numberof(addresses.all) : numberof(addresses.all) / 2;
    int count = backtrace((void **)addresses.all, most);
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
