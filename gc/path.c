/* path.c - who asked the allocator, found by the sizes of the frames in between. Compiled inside gc.c.
 *
 * The unwinder takes some 2,000 instructions a frame. But of the frames between a gate and the caller
 * there are few kinds: functions of MRI's own that ask for somebody else (profiler/callers.h), which have
 * frames of one size at each call, for none has an alloca. So where a return address leads to such a function,
 * the next return address is a fixed number of words further out:
 *
 *     frame of what the gate called:  [fp, return address] ... [return address] ... [return address]
 *     place                                1                    7                    12
 *     returns to                           rb_gc_impl_malloc    ruby_xmalloc         str_enc_new: the caller
 *     steps                                6                    5
 *
 * A step is learned from the unwinder the first time.
 *
 *   I1  the first word is that behind the frame of the function a gate called, which is always there.
 *   I2  a step is of a return address in a wrapper, so what is read next is on this stack.
 *
 * Not with malloc=all, where functions of other libraries ask for somebody else, of whose frames nothing is
 * known; nor elsewhere than on x86-64 under Linux, where return addresses lie elsewhere: there each sample is
 * unwound. Under the VM lock. Builds with HEAPPROF_CHECK unwind each, too, and compare.
 */
enum { OWN_FRAMES = 6 }; /* from take_addresses to what a gate calls: asking_caller and block_site among them */

#if HEAPPROF_STEPS
enum { KNOWN_STEPS = 256, STEPS_MOST = 8 }; /* the first a power of two */

struct step {
    uintptr_t word;  /* a return address in a wrapper; 0: none */
    uintptr_t words; /* to the next */
};

static struct {
    struct step all[KNOWN_STEPS]; /* by the hash of the word, or behind that */
    size_t      count;
    uint64_t    epoch;            /* of the profiler: another run may have other wrappers */
} steps;

/* Where it is, or is to be. */
HEAPPROF_COLD static struct step *
step_of(uintptr_t word)
{
    uint64_t probe = rb_heapprof_index_hash(word);

    for (; steps.all[probe & (KNOWN_STEPS - 1)].word; probe++) {
        if (steps.all[probe & (KNOWN_STEPS - 1)].word == word) break;
    }
    return &steps.all[probe & (KNOWN_STEPS - 1)];
}

HEAPPROF_COLD static void
learn_step(uintptr_t word, uintptr_t bytes)
{
    struct step *step = step_of(word);

    if (step->word || steps.count == KNOWN_STEPS / 2) return;
    *step = (struct step){ word, bytes / sizeof(uintptr_t) };
    steps.count++;
}

struct unwinding {
    const uintptr_t *frame;
    struct { uintptr_t word, place; } path[STEPS_MOST];
    size_t count;
};

/* Of each function on the way: the address it goes on at, and the end of the frame it called with. */
HEAPPROF_COLD static _Unwind_Reason_Code
unwind_i(struct _Unwind_Context *context, void *data)
{
    struct unwinding *unwinding = data;
    const uintptr_t *place = (const uintptr_t *)_Unwind_GetCFA(context) - 1;
    uintptr_t word = _Unwind_GetIP(context);

    if (place <= unwinding->frame) return _URC_NO_REASON; /* our own */
    if (*place != word) return _URC_END_OF_STACK;
    unwinding->path[unwinding->count].word = word;
    unwinding->path[unwinding->count].place = (uintptr_t)place;
    if (++unwinding->count == STEPS_MOST) return _URC_END_OF_STACK;
    if (!rb_heapprof_callers_wrapper_p(&rb_heapprof.tables.callers, word)) return _URC_END_OF_STACK;
    return _URC_NO_REASON;
}

HEAPPROF_COLD static void
learn_steps(const uintptr_t *frame)
{
    struct unwinding unwinding = { .frame = frame };

    _Unwind_Backtrace(unwind_i, &unwinding);
    if (unwinding.count == 0 || unwinding.path[0].place != (uintptr_t)(frame + 1)) return;
    for (size_t i = 1; i < unwinding.count; i++) {
        learn_step(unwinding.path[i - 1].word, unwinding.path[i].place - unwinding.path[i - 1].place);
    }
}

/* 0: a step on the way is not known. */
HEAPPROF_COLD static uintptr_t
follow_steps(const uintptr_t *place)
{
    for (int i = 0; i < STEPS_MOST; i++) {
        const struct step *step = step_of(*place);
        if (step->word != *place) {
            bool wrapper = rb_heapprof_callers_wrapper_p(&rb_heapprof.tables.callers, *place);
            return i > 0 && !wrapper ? *place : 0;
        }
        place += step->words;
    }
    return 0;
}

HEAPPROF_COLD static uintptr_t
caller_by_steps(const uintptr_t *frame)
{
    if (steps.epoch != rb_heapprof.epoch) {
        memset(&steps, 0, sizeof(steps));
        steps.epoch = rb_heapprof.epoch;
    }
    uintptr_t caller = follow_steps(frame + 1);
    if (caller) return caller;
    learn_steps(frame);
    return follow_steps(frame + 1);
}
#else
HEAPPROF_COLD static uintptr_t caller_by_steps(const uintptr_t *frame) { return 0; }
#endif

/* frame: of the function that a gate called. */
HEAPPROF_COLD static uintptr_t
asking_caller(const uintptr_t *frame)
{
    uintptr_t caller = rb_heapprof.options.malloc_all ? 0 : caller_by_steps(frame);

    if (!caller || HEAPPROF_CHECK) {
        struct addresses addresses = take_addresses();
        uintptr_t found = find_caller(&addresses, OWN_FRAMES);
        HEAPPROF_ASSERT(!caller || caller == found);
        caller = found;
    }
    return caller;
}
