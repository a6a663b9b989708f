/* steps.c - from the frame of a function to that of its caller, by return addresses. A map with
 * the length of each step is drawn once; then one walks without looking down. Compiled inside
 * gc.c.
 *
 * The unwinder takes some 2,000 instructions a frame. But what it finds for a return address is
 * the same each time: how far the end of the frame is, from the stack pointer or from rbp
 * (os/frame_step.h). So each return address is looked up in the unwind tables once:
 *
 *     frame of what the gate called:  [rbp, return address] ... [return address] ... [return address]
 *     place                                 1                    7                    12
 *     returns to                            rb_gc_impl_malloc    ruby_xmalloc         str_enc_new: the caller
 *     steps                                 6                    5
 *
 * Known steps are kept in sets of a cache line each. The newest comes first, and the oldest
 * drops out.
 *
 *   I1  a known step belongs to an address in loaded code: when a library is unloaded, all that
 *       is known is forgotten (unload.c). Without malloc=all nobody sees that, and steps are
 *       used in MRI alone.
 *   I2  whose a function is depends on the roles that are known in this run. A new run, or a new
 *       wrapper, begins anew.
 *
 * On systems other than x86-64 under Linux no step is known, for return addresses lie
 * elsewhere. Under the VM lock.
 */
#include "os/frame_step.h"

static rb_atomic_t steps_age; /* goes up when known steps become void */

/* Any thread may call this. Another library may take the place of one, or a function may turn
 * out to be a wrapper. */
HEAPPROF_COLD static void
forget_steps(void)
{
    RUBY_ATOMIC_INC(steps_age);
}

#if HEAPPROF_STEPS
enum whose { OTHERS, WRAPPERS, CORES, EDGES };

struct known_step {
    uintptr_t word; /* a return address; 0: none */
    struct heapprof_frame_step step;
    uint8_t whose;
};

enum { KNOWN_SETS = 2048, KNOWN_OF_SET = 4 }; /* the first a power of two */

static struct {
    struct known_step all[KNOWN_SETS][KNOWN_OF_SET]; /* by the hash of the word */
    uint64_t epoch;                                  /* of the profiler; void in another */
    rb_atomic_t age;                                 /* void unless it is steps_age */
} steps;

/* libgcc's struct of that name, and its search for the record of a function in .eh_frame. */
struct dwarf_eh_bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *address, struct dwarf_eh_bases *bases);

HEAPPROF_COLD static void
begin_anew(rb_atomic_t age)
{
    memset(&steps, 0, sizeof(steps));
    steps.epoch = rb_heapprof.epoch;
    steps.age = age;
}

HEAPPROF_COLD static enum whose
whose_is(uintptr_t word)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;

    switch (rb_heapprof_callers_role(callers, word)) {
      case HEAPPROF_ROLE_WRAPPER:
      case HEAPPROF_ROLE_XMALLOC: return WRAPPERS;
      case HEAPPROF_ROLE_EDGE: return EDGES;
      case HEAPPROF_ROLE_MARKER:
      case HEAPPROF_ROLE_NONE: break;
    }
    return rb_heapprof_callers_core_p(callers, word) ? CORES : OTHERS;
}

/* Code that has no record is the last step. The unwinder ends there, too. */
HEAPPROF_COLD static struct heapprof_frame_step
find_step(uintptr_t word)
{
    struct dwarf_eh_bases bases;
    const void *record = _Unwind_Find_FDE((void *)(word - 1), &bases);

    if (!record) return (struct heapprof_frame_step){ .kind = HEAPPROF_STEP_LAST };
    return rb_heapprof_frame_step_read(record, (uintptr_t)bases.function, word);
}

HEAPPROF_COLD static const struct known_step *
learn_step(struct known_step *set, uintptr_t word)
{
    memmove(set + 1, set, (KNOWN_OF_SET - 1) * sizeof(*set));
    set[0] = (struct known_step){ .word = word, .step = find_step(word), .whose = whose_is(word) };
    return set;
}

HEAPPROF_COLD static const struct known_step *
step_of(uintptr_t word)
{
    struct known_step *set = steps.all[rb_heapprof_index_hash(word) & (KNOWN_SETS - 1)];

    for (int i = 0; i < KNOWN_OF_SET; i++) {
        if (set[i].word == word) return &set[i];
    }
    return learn_step(set, word);
}

/* ---- a walk outwards ---- */

struct walk_outwards {
    struct heapprof_c_frame frame;
    uintptr_t limit;        /* of the stack: no frame ends further out */
    const struct known_step *at;
};

HEAPPROF_COLD static void
walk_begin(struct walk_outwards *walk, const uintptr_t *frame)
{
    rb_atomic_t age = RUBY_ATOMIC_LOAD(steps_age);

    if (steps.epoch != rb_heapprof.epoch || steps.age != age) begin_anew(age);
    walk->frame = (struct heapprof_c_frame){ frame + 1, frame[0] };
    walk->limit = UINTPTR_MAX;
    walk->at = step_of(frame[1]);
}

/* Moves to the caller. Returns false if there is no caller, or if it is not known. */
HEAPPROF_COLD static bool
walk_on(struct walk_outwards *walk)
{
    if (!rb_heapprof_frame_step_take(&walk->at->step, &walk->frame, walk->limit)) return false;
    walk->at = step_of(*walk->frame.place);
    return true;
}
#endif
