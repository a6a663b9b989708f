/* path.c - who asked the allocator, and with memcheck on whose behalf: the clerk at the
 * counter, the customer behind the clerk, and who sent the customer. Compiled inside gc.c.
 *
 *     gate -> rb_gc_impl_malloc -> ruby_xmalloc -> str_enc_new -> rb_str_new -> lib_work -> vm_exec_core
 *             wrappers (profiler/callers.h)        the caller                   behalf      Ruby code: stop
 *
 *     gate -> malloc -> xmlStrdup -> read_name -> Init_ext -> rb_require
 *                       the caller   its callers              MRI: stop
 *
 * Its callers are those in other files than MRI: so a report can say for which extension a
 * library asked. A recursion counts once. Of a long way the innermost callers are kept, and the
 * outermost, which MRI has called.
 *
 * The C method that runs is the last of them, even if the way does not lead by it: it may have MRI
 * call the library (rb_thread_call_without_gvl, rb_protect), with a function that jumps there. Of
 * Class#new it is the allocator of the class that may have jumped.
 *
 * Each frame on the way is a step (steps.c). If a step is not known, the sample is unwound. If
 * no wrapper is known, the profiler's own frames are told by their number.
 *
 * Under the VM lock. Builds with HEAPPROF_CHECK also unwind each sample, and compare.
 */
enum { OWN_FRAMES = 6 }; /* from take_addresses to what a gate calls, both included */
enum { STEPS_MOST = 100 };

/* Return addresses. */
struct asking {
    uintptr_t caller;       /* 0: not known */
    uintptr_t callers[12];  /* only with memcheck: its callers, innermost first */
    size_t    caller_count;
    enum heapprof_block_allocator allocator; /* only with memcheck */
};

HEAPPROF_COLD static void
add_its_caller(struct asking *asking, uintptr_t word)
{
    uintptr_t last =
        asking->caller_count ? asking->callers[asking->caller_count - 1] : asking->caller;

    if (word == last) return;
    if (asking->caller_count == numberof(asking->callers)) asking->caller_count--;
    asking->callers[asking->caller_count++] = word;
}

/* word: the return address of the function that stands for the C library's. caller: of the
 * allocator. */
HEAPPROF_COLD static enum heapprof_block_allocator
asked_allocator(uintptr_t word, uintptr_t caller)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;

    if (!rb_heapprof_callers_core_p(callers, word)) return HEAPPROF_OF_LIBC;
    if (rb_heapprof_callers_role(callers, word) != HEAPPROF_ROLE_XMALLOC)
        return HEAPPROF_OF_UNKNOWN;
    return rb_heapprof_callers_core_p(callers, caller) ? HEAPPROF_OF_XMALLOC_BY_CORE
                                                       : HEAPPROF_OF_XMALLOC;
}

/* False for code that YJIT has made, which is Ruby code. */
HEAPPROF_COLD static bool
compiled_p(uintptr_t word)
{
#if HEAPPROF_STEPS
    return find_step(word).kind != HEAPPROF_STEP_LAST;
#else
    return true;
#endif
}

/* With memcheck: the function at all[i], or if that is MRI's, the one that called MRI; and its
 * callers. */
HEAPPROF_COLD static struct asking
asking_outwards(const struct addresses *addresses, size_t i)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;
    struct asking asking = { .caller = addresses->all[i] };

    if (rb_heapprof_callers_core_p(callers, asking.caller)) {
        uintptr_t behalf =
            rb_heapprof_callers_behalf(callers, addresses->all + i, addresses->count - i);
        if (!behalf) return asking;
        asking.caller = behalf;
        while (addresses->all[i] != behalf) i++;
    }
    for (i++; i < addresses->count; i++) {
        uintptr_t word = addresses->all[i];
        if (rb_heapprof_callers_core_p(callers, word) || !compiled_p(word)) break;
        if (!rb_heapprof_callers_wrapper_p(callers, word)) add_its_caller(&asking, word);
    }
    return asking;
}

/* Unwinding does not see as far out as steps do, and may find nothing but MRI. own: as
 * find_caller's. */
HEAPPROF_COLD static struct asking
asking_by_unwinding(const struct addresses *addresses, size_t own)
{
    uintptr_t caller = find_caller(addresses, own);
    enum heapprof_block_allocator allocator = HEAPPROF_OF_UNKNOWN;
    size_t i = 0;

    if (!rb_heapprof.run.options.memcheck || !caller) return (struct asking){ .caller = caller };
    if (own + 1 < addresses->count)
        allocator = asked_allocator(addresses->all[own + 1], caller);
    while (addresses->all[i] != caller) i++;
    struct asking asking = asking_outwards(addresses, i);
    asking.allocator = allocator;
    return asking;
}

#if HEAPPROF_STEPS
/* The walk is at a function of MRI. It goes on to the function that called MRI, or to an edge.
 * Returns false if the way to one of the two is not known. */
HEAPPROF_COLD static bool
walk_to_behalf(struct walk_outwards *walk)
{
    for (int i = 0; i < STEPS_MOST; i++) {
        if (walk->at->whose == EDGES || walk->at->whose == OTHERS) return true;
        if (walk->at->step.kind == HEAPPROF_STEP_UNKNOWN) return false;
        if (!walk_on(walk)) return true;
    }
    return true;
}

/* The walk is at the caller. Returns false if its callers are not known. */
HEAPPROF_COLD static bool
walk_its_callers(struct walk_outwards *walk, struct asking *asking)
{
    for (int i = 0; i < STEPS_MOST; i++) {
        if (walk->at->step.kind == HEAPPROF_STEP_UNKNOWN) return false;
        if (!walk_on(walk) || walk->at->whose == CORES || walk->at->whose == EDGES)
            return true;
        if (walk->at->step.kind == HEAPPROF_STEP_LAST) return true; /* as compiled_p */
        if (walk->at->whose == OTHERS) add_its_caller(asking, walk->at->word);
    }
    return true;
}

/* With memcheck. The thread runs on the stack that Ruby gave it: memcheck goes with malloc=all,
 * which checks that. */
HEAPPROF_COLD static struct asking
asking_on_behalf(struct walk_outwards *walk)
{
    const struct asking unknown = { .caller = 0 };
    struct asking asking = { .caller = walk->at->word };

    walk->limit = (uintptr_t)GET_EC()->machine.stack_start;
    if (!walk_to_behalf(walk)) return unknown;
    if (walk->at->whose != OTHERS) return asking;
    asking.caller = walk->at->word;
    return walk_its_callers(walk, &asking) ? asking : unknown;
}

HEAPPROF_COLD static struct asking
asking_by_steps(const uintptr_t *frame)
{
    const struct asking unknown = { .caller = 0 };
    struct walk_outwards walk;

    walk_begin(&walk, frame);
    if (walk.at->whose != WRAPPERS || !walk_on(&walk)) return unknown;
    uintptr_t word = walk.at->word;
    while (walk.at->whose == WRAPPERS) {
        if (!walk_on(&walk)) return unknown;
    }
    if (!rb_heapprof.run.options.memcheck) return (struct asking){ .caller = walk.at->word };
    enum heapprof_block_allocator allocator = asked_allocator(word, walk.at->word);
    struct asking asking = asking_on_behalf(&walk);
    asking.allocator = allocator;
    return asking;
}
#else
HEAPPROF_COLD static struct asking
asking_by_steps(const uintptr_t *frame)
{
    return (struct asking){ .caller = 0 };
}
#endif

/* The C function that the address is behind a call of. 0 if it is not known. */
HEAPPROF_COLD static uintptr_t
function_at(uintptr_t word)
{
#if HEAPPROF_STEPS
    struct dwarf_eh_bases bases;

    if (_Unwind_Find_FDE((void *)(word - 1), &bases)) return (uintptr_t)bases.function;
    return 0;
#elif HEAPPROF_UNWIND_IN_FIBER
    return (uintptr_t)_Unwind_FindEnclosingFunction((void *)(word - 1));
#else
    return 0;
#endif
}

/* True for a function or a type of an extension or a library. */
HEAPPROF_COLD static bool
foreign_code_p(uintptr_t code)
{
    return code != 0 && code != (uintptr_t)free && code != (uintptr_t)RUBY_DEFAULT_FREE &&
           !rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, code + 1);
}

/* An allocator of an extension that ends with MRI's request for a struct (TypedData_Make_Struct)
 * jumps there, and is not on the way. Then Class#new seems to ask, which asks for nothing
 * itself. */
HEAPPROF_COLD static void
find_allocator(struct asking *asking, const rb_execution_context_t *ec)
{
    if (!asking->caller ||
        !rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, asking->caller)) return;
    uintptr_t allocator = rb_heapprof_frames_allocator(ec);
    if (foreign_code_p(allocator) &&
        function_at(asking->caller) == (uintptr_t)rb_class_new_instance_pass_kw)
        asking->caller = allocator + 1;
}

/* Adds the method that runs to the callers of an extension or a library. */
HEAPPROF_COLD static void
add_method(struct asking *asking, const rb_execution_context_t *ec)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;

    if (!asking->caller || rb_heapprof_callers_core_p(callers, asking->caller)) return;
    uintptr_t method = rb_heapprof_frames_c_method(ec);
    if (!method || rb_heapprof_callers_core_p(callers, method)) return;
    uintptr_t outermost =
        asking->caller_count ? asking->callers[asking->caller_count - 1] : asking->caller;
    if (function_at(outermost) != method) add_its_caller(asking, method + 1);
}

/* What the method that runs says of those who ask. */
HEAPPROF_COLD static void
ask_method(struct asking *asking, const rb_execution_context_t *ec)
{
    if (!rb_heapprof.run.options.memcheck) return;
    find_allocator(asking, ec);
    add_method(asking, ec);
}

/* frame: the frame of the function that a gate called. */
HEAPPROF_COLD static struct asking
asking_code(const uintptr_t *frame)
{
    struct asking asking = asking_by_steps(frame);

    if (!asking.caller || HEAPPROF_CHECK) {
        struct addresses addresses = take_addresses();
        struct asking found = asking_by_unwinding(&addresses, OWN_FRAMES);
        HEAPPROF_ASSERT(!asking.caller || asking.caller == found.caller ||
                        (rb_heapprof.run.options.memcheck &&
                         rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, found.caller)));
        HEAPPROF_ASSERT(!asking.caller || asking.allocator == found.allocator);
        if (!asking.caller) asking = found;
    }
    return asking;
}
