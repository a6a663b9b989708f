/* path.c - who asked the allocator, and with memcheck on whose behalf: the clerk at the
 * counter, and the customer behind the clerk. Compiled inside gc.c.
 *
 *     gate -> rb_gc_impl_malloc -> ruby_xmalloc -> str_enc_new -> rb_str_new -> lib_work -> vm_exec_core
 *             wrappers (profiler/callers.h)        the caller                   behalf      Ruby code: stop
 *
 * Each frame on the way is a step (steps.c). If a step is not known, the sample is unwound. If
 * no wrapper is known, the profiler's own frames are told by their number.
 *
 * Under the VM lock. Builds with HEAPPROF_CHECK also unwind each sample, and compare.
 */
enum { OWN_FRAMES = 7 }; /* from take_addresses to what a gate calls, both included */

/* Unwinding does not see as far out as steps do, and may find nothing but MRI. */
HEAPPROF_COLD static uintptr_t
asking_by_unwinding(void)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;
    struct addresses addresses = take_addresses();
    uintptr_t caller = find_caller(&addresses, OWN_FRAMES);
    size_t i = 0;

    if (!rb_heapprof.run.options.memcheck || !rb_heapprof_callers_core_p(callers, caller))
        return caller;
    while (addresses.all[i] != caller) i++;
    uintptr_t behalf = rb_heapprof_callers_behalf(callers, addresses.all + i, addresses.count - i);
    return behalf ? behalf : caller;
}

#if HEAPPROF_STEPS
/* The walk is at a function of MRI. Returns the function that called MRI, without Ruby code in
 * between. Returns that of MRI if there is none, and 0 if it is not known. The thread runs on
 * the stack that Ruby gave it: memcheck goes with malloc=all, which checks that. */
HEAPPROF_COLD static uintptr_t
asking_on_behalf(struct walk_outwards *walk)
{
    enum { MOST = 100 };
    uintptr_t caller = walk->at->word;

    walk->limit = (uintptr_t)GET_EC()->machine.stack_start;
    for (int i = 0; i < MOST && walk->at->whose != INTERPRETERS; i++) {
        if (walk->at->whose == OTHERS) return walk->at->word;
        if (walk->at->step.kind == HEAPPROF_STEP_UNKNOWN) return 0;
        if (!walk_on(walk)) break;
    }
    return caller;
}

/* Returns 0 if it is not known. */
HEAPPROF_COLD static uintptr_t
asking_by_steps(const uintptr_t *frame)
{
    struct walk_outwards walk;

    walk_begin(&walk, frame);
    if (walk.at->whose != WRAPPERS) return 0;
    while (walk.at->whose == WRAPPERS) {
        if (!walk_on(&walk)) return 0;
    }
    bool of_core = walk.at->whose == CORES || walk.at->whose == INTERPRETERS;
    return rb_heapprof.run.options.memcheck && of_core ? asking_on_behalf(&walk) : walk.at->word;
}
#else
HEAPPROF_COLD static uintptr_t asking_by_steps(const uintptr_t *frame) { return 0; }
#endif

/* frame: the frame of the function that a gate called. */
HEAPPROF_COLD static uintptr_t
asking_caller(const uintptr_t *frame)
{
    uintptr_t caller = asking_by_steps(frame);

    if (!caller || HEAPPROF_CHECK) {
        uintptr_t found = asking_by_unwinding();
        HEAPPROF_ASSERT(!caller || caller == found ||
                        (rb_heapprof.run.options.memcheck &&
                         rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, found)));
        caller = found;
    }
    return caller;
}
