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
 * With malloc=all functions of other libraries ask for somebody else, too, of whose frames nothing is known: where one is on the
 * way, the sample is unwound. So is each sample elsewhere than on x86-64 under Linux, where return addresses lie elsewhere.
 * Under the VM lock. Builds with HEAPPROF_CHECK unwind each, too, and compare.
 */
enum { OWN_FRAMES = 7 }; /* from take_addresses to what a gate calls: asking_by_unwinding and block_site among them */

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

    if (!rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, word)) return;
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

/* Where the caller's address is; NULL: a step on the way is not known. */
HEAPPROF_COLD static const uintptr_t *
follow_steps(const uintptr_t *place)
{
    for (int i = 0; i < STEPS_MOST; i++) {
        const struct step *step = step_of(*place);
        if (step->word != *place) {
            bool wrapper = rb_heapprof_callers_wrapper_p(&rb_heapprof.tables.callers, *place);
            return i > 0 && !wrapper ? place : NULL;
        }
        place += step->words;
    }
    return NULL;
}

HEAPPROF_COLD static const uintptr_t *
caller_by_steps(const uintptr_t *frame)
{
    if (steps.epoch != rb_heapprof.epoch) {
        memset(&steps, 0, sizeof(steps));
        steps.epoch = rb_heapprof.epoch;
    }
    const uintptr_t *place = follow_steps(frame + 1);
    if (place) return place;
    learn_steps(frame);
    return follow_steps(frame + 1);
}
#else
HEAPPROF_COLD static const uintptr_t *caller_by_steps(const uintptr_t *frame) { return NULL; }
#endif

/* ---- on whose behalf MRI asked (memcheck) ---- */

HEAPPROF_COLD static uintptr_t
asking_by_unwinding(void)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;
    struct addresses addresses = take_addresses();
    uintptr_t caller = find_caller(&addresses, OWN_FRAMES);
    size_t i = 0;

    if (!rb_heapprof.options.memcheck || !rb_heapprof_callers_core_p(callers, caller)) return caller;
    while (addresses.all[i] != caller) i++;
    uintptr_t behalf = 0;
    rb_heapprof_callers_behalf(callers, addresses.all + i, addresses.count - i, &behalf);
    return behalf ? behalf : caller;
}

#if HEAPPROF_STEPS
/* Whose behalf it is has to be looked for up to the interpreter, which is far. What was found is known for each function on the
 * way, by the return addresses from there on, each at its place on the stack: where these are, they have been called in the
 * same way. So of a recursion only the innermost functions are unwound. */
enum { KNOWN_BEHALVES = 2048, CHAIN_MOST = 40 }; /* the first a power of two */

struct behalf {
    const uintptr_t *place;       /* of the first word */
    uintptr_t behalf;             /* 0: nobody's */
    uint32_t  count;              /* of words; 0: nothing is known here */
    uint16_t  offsets[CHAIN_MOST]; /* of words, from place */
    uintptr_t words[CHAIN_MOST];
};

static struct behalf behalves[KNOWN_BEHALVES]; /* by the hash of place and first word */

HEAPPROF_COLD static struct behalf *
behalf_at(const uintptr_t *place, uintptr_t word)
{
    return &behalves[rb_heapprof_index_hash((uintptr_t)place ^ word << 20) & (KNOWN_BEHALVES - 1)];
}

HEAPPROF_COLD static bool
same_chain_p(const struct behalf *known, const uintptr_t *place)
{
    if (known->place != place || known->count == 0) return false;
    for (uint32_t i = 0; i < known->count; i++) {
        if (place[known->offsets[i]] != known->words[i]) return false;
    }
    return true;
}

/* Behind the chain's last word, from the first of known on. */
HEAPPROF_COLD static void
append_known(struct behalf *chain, const struct behalf *known)
{
    ptrdiff_t offset = known->place - chain->place;

    chain->behalf = known->behalf;
    for (uint32_t i = 1; i < known->count && chain->count < CHAIN_MOST; i++) {
        if (offset + known->offsets[i] > UINT16_MAX) return;
        chain->offsets[chain->count] = (uint16_t)(offset + known->offsets[i]);
        chain->words[chain->count++] = known->words[i];
    }
}

struct chain {
    struct behalf found;
    uint32_t unwound;  /* of its words, those that were not known */
};

/* Of each function from the caller on, where it goes on at. */
HEAPPROF_COLD static _Unwind_Reason_Code
chain_i(struct _Unwind_Context *context, void *data)
{
    struct chain *chain = data;
    struct behalf *found = &chain->found;
    const uintptr_t *place = (const uintptr_t *)_Unwind_GetCFA(context) - 1;
    uintptr_t word = _Unwind_GetIP(context);

    if (place < found->place) return _URC_NO_REASON;
    if (*place != word || place - found->place > UINT16_MAX) return _URC_END_OF_STACK;
    found->offsets[found->count] = (uint16_t)(place - found->place);
    found->words[found->count++] = word;
    const struct behalf *known = behalf_at(place, word);
    if (same_chain_p(known, place)) {
        append_known(found, known);
        return _URC_END_OF_STACK;
    }
    chain->unwound++;
    bool decided = rb_heapprof_callers_behalf(&rb_heapprof.tables.callers, &word, 1, &found->behalf);
    return decided || found->count == CHAIN_MOST ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* What is known from each function on that was unwound. */
HEAPPROF_COLD static void
remember_chain(const struct chain *chain)
{
    const struct behalf *found = &chain->found;

    for (uint32_t first = 0; first < chain->unwound; first++) {
        const uintptr_t *place = found->place + found->offsets[first];
        struct behalf *known = behalf_at(place, found->words[first]);
        known->place = place;
        known->behalf = found->behalf;
        known->count = found->count - first;
        for (uint32_t i = 0; i < known->count; i++) {
            known->offsets[i] = (uint16_t)(found->offsets[first + i] - found->offsets[first]);
            known->words[i] = found->words[first + i];
        }
    }
}

/* place: of the caller's address, which is in MRI. */
HEAPPROF_COLD static uintptr_t
asking_on_behalf(const uintptr_t *place)
{
    const struct behalf *known = behalf_at(place, *place);
    struct chain chain = { .found.place = place };

    if (!same_chain_p(known, place)) {
        _Unwind_Backtrace(chain_i, &chain);
        remember_chain(&chain);
        known = &chain.found;
    }
    return known->behalf ? known->behalf : *place;
}
#else
HEAPPROF_COLD static uintptr_t asking_on_behalf(const uintptr_t *place) { return asking_by_unwinding(); }
#endif

/* frame: of the function that a gate called. */
HEAPPROF_COLD static uintptr_t
asking_caller(const uintptr_t *frame)
{
    const uintptr_t *place = caller_by_steps(frame);
    uintptr_t caller = place ? *place : 0;

    if (place && rb_heapprof.options.memcheck && rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, caller)) {
        caller = asking_on_behalf(place);
    }
    if (!caller || HEAPPROF_CHECK) {
        uintptr_t found = asking_by_unwinding(); /* which does not see as far out, and may find MRI alone */
        HEAPPROF_ASSERT(!caller || caller == found || (rb_heapprof.options.memcheck && found == *place));
        caller = found;
    }
    return caller;
}
