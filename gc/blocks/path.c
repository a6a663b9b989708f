/* path.c - who asked the allocator, and with memcheck on whose behalf. Compiled inside gc.c.
 *
 *     gate -> rb_gc_impl_malloc -> ruby_xmalloc -> str_enc_new -> rb_str_new -> lib_work -> vm_exec_core
 *             wrappers (profiler/callers.h)        the caller                   behalf      Ruby code: nobody is looked for behind it
 *
 * Each frame on the way is a step (steps.c). Where one is not known, the sample is unwound; and where no wrapper is known, the first
 * addresses are ours by their number.
 *
 * Under the VM lock. Builds with HEAPPROF_CHECK unwind each sample, too, and compare.
 */
enum { OWN_FRAMES = 7 }; /* from take_addresses to what a gate calls: asking_by_unwinding and block_site among them */

/* Which does not see as far out as steps do, and may find MRI alone. */
HEAPPROF_COLD static uintptr_t
asking_by_unwinding(void)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;
    struct addresses addresses = take_addresses();
    uintptr_t caller = find_caller(&addresses, OWN_FRAMES);
    size_t i = 0;

    if (!rb_heapprof.options.memcheck || !rb_heapprof_callers_core_p(callers, caller)) return caller;
    while (addresses.all[i] != caller) i++;
    uintptr_t behalf = rb_heapprof_callers_behalf(callers, addresses.all + i, addresses.count - i);
    return behalf ? behalf : caller;
}

#if HEAPPROF_STEPS
/* Of a function of MRI's: who has called MRI, without Ruby code in between. caller, if nobody has; 0: not known. On the stack that
 * Ruby gave the thread, as malloc=all sees to, which memcheck goes with. */
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

/* 0: not known. */
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
    return rb_heapprof.options.memcheck && of_core ? asking_on_behalf(&walk) : walk.at->word;
}
#else
HEAPPROF_COLD static uintptr_t asking_by_steps(const uintptr_t *frame) { return 0; }
#endif

/* frame: of the function that a gate called. */
HEAPPROF_COLD static uintptr_t
asking_caller(const uintptr_t *frame)
{
    uintptr_t caller = asking_by_steps(frame);

    if (!caller || HEAPPROF_CHECK) {
        uintptr_t found = asking_by_unwinding();
        HEAPPROF_ASSERT(!caller || caller == found ||
                        (rb_heapprof.options.memcheck && rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, found)));
        caller = found;
    }
    return caller;
}
