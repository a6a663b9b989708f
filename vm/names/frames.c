/* frames.c - from control frames to a stack number.
 *
 * A stack is the frames of a Ruby backtrace, outermost first, each a function and a line. A
 * walker who climbs the same stairs again and again leaves a mark on each step, and the next
 * climb ends at the first mark. Our marks are notes. As long as a frame is there, its callers
 * wait: they keep their code, their line and their method. So each walked frame bears a note, the
 * stack number of its callers, and the next walk goes outwards to the first note:
 *
 *     control frames   cfp ->  Foo.new | make | block in run | run | <main> | (dummy)
 *     notes                    -       | -    | 2            | 1   | 0      | edition 7
 *                              <--- walked ---------------->
 *
 * The note is in the upper half of the flags word of the frame's environment. MRI writes that
 * word whole when it pushes a frame, so a new frame has no note. Later MRI looks at single flags
 * only. Notes end with the memory that they are written on, so nothing has to be done when a
 * frame goes, a fiber ends or a thread's stack is freed. An environment that moves to the heap
 * takes its note along. A continuation brings back frames with their notes, above the same
 * callers. doc/design/stacks.md has the reasons.
 *
 *   I1  the notes on a stack are stack numbers of the edition that its outermost frame, which is
 *       a dummy, bears: who makes numbers void begins a new edition
 *       (rb_heapprof_numbers_edition). A stack of another edition is walked whole, and all its
 *       notes are written anew or taken away.
 *   I2  a note counts the callers as if the frame were the innermost.
 *   I3  an edition is never used again. In the last one, UINT32_MAX, no notes are written.
 *
 * Frames without a note are looked up by address (known), because the same call from the same
 * place is the common case. For the same reason the innermost frames, up to the first note, are
 * compared with those of earlier walks (tops) before anything is walked. These addresses are
 * forgotten when code is freed (ruby_vm_code_generation) or moved (rb_heapprof_frames_forget_code).
 * Notes contain no address.
 *
 * A stack with more frames than options.depth has two numbers: its own, and that of its innermost
 * frames below [truncated]. The second is sampled. A stack that would take more than an eighth of
 * the budget has only the second, and bears no notes.
 *
 * Which frames count follows rb_ec_partial_backtrace_object in vm_backtrace.c. So does the rule
 * that a rescue or ensure frame stands for its method's own frame.
 *
 * Under the VM lock. No Ruby allocation, no raise, no GC.
 */
#include "ruby/ruby.h"
#include "vm/names/frames.h"
#include "base/check.h"
#include "gc/book/state.h"
#include "internal/vm.h"
#include "iseq.h"
#include "vm/names/generation.h"
#include "vm/names/names.h"
#include "rjit.h"

enum { KNOWN_FRAMES = 1024, KNOWN_CUTS = 256, KNOWN_TOPS = 256 }; /* powers of two */
enum { WAYS = 2 }; /* tops that one place in the table has room for */

/* A frame on top of its caller's stack, and the stack that this makes. */
struct known_frame {
    const rb_iseq_t *iseq;  /* NULL: a C method */
    const VALUE *pc;
    const rb_callable_method_entry_t *method;
    uint32_t caller;
    uint32_t stack;         /* 0: the entry is empty */
    uint64_t age;           /* void unless it is walks.age */
};

/* The innermost frames of a stack, from the innermost to one that bore its note already. */
struct known_top {
    struct top_frame {
        const rb_iseq_t *iseq;  /* NULL: a C method */
        const VALUE *pc;
        const rb_callable_method_entry_t *method;
        uint32_t note;          /* of its callers */
    } frames[6];
    uint32_t count;
    uint32_t stack;         /* of all */
    uint64_t age;           /* void unless it is walks.age */
};

/* The cut stack that stands for one that is too deep. */
struct known_cut {
    uint32_t whole;
    uint32_t edition;       /* void unless it is walks.edition */
    uint32_t stack;
};

static struct {
    uint32_t *path;          /* of a stack that is cut, innermost first */
    size_t   path_capacity;
    uint64_t numbers;        /* the edition of numbers that all of this is of */
    uint32_t edition;        /* of notes */
    uint64_t freed;          /* the generation of code that known and tops are of */
    uint64_t age;            /* of known and tops */
    struct known_frame known[KNOWN_FRAMES];
    struct known_top   tops[KNOWN_TOPS][WAYS]; /* the last one first */
    struct known_cut   cuts[KNOWN_CUTS];
} walks;

/* Whether a frame has code. A frame that only names a file being read or loaded has no pc; nor
 * has a block written in C. doc/design/stacks.md, "The walk may come at any allocation", says why
 * no other frame is half made. A frame whose code has no body is passed over all the same, not
 * read. */
static bool
runs_p(const rb_control_frame_t *cfp)
{
    return cfp->pc && ISEQ_BODY(cfp->iseq);
}

static bool
stands_for_outer_p(const rb_iseq_t *iseq)
{
    enum rb_iseq_type type = ISEQ_BODY(iseq)->type;
    return type == ISEQ_TYPE_RESCUE || type == ISEQ_TYPE_ENSURE;
}

STATIC_ASSERT(environments_have_three_words,
              VM_ENV_DATA_SIZE == 3 && VM_ENV_DATA_INDEX_ME_CREF == -2 &&
                  VM_ENV_DATA_INDEX_SPECVAL == -1 && VM_ENV_DATA_INDEX_FLAGS == 0);
STATIC_ASSERT(flags_are_no_object,
              VM_FRAME_MAGIC_METHOD & VM_FRAME_MAGIC_BLOCK & VM_FRAME_MAGIC_CLASS &
                  VM_FRAME_MAGIC_TOP & VM_FRAME_MAGIC_CFUNC & VM_FRAME_MAGIC_IFUNC &
                  VM_FRAME_MAGIC_EVAL & VM_FRAME_MAGIC_RESCUE & VM_FRAME_MAGIC_DUMMY &
                  RUBY_FIXNUM_FLAG);

/* The present place of the environment at ep. While a block's environments move to the heap, the
 * outermost has moved and the next one still points to its old place. The new environment stands
 * there instead of the flags. YJIT is told of each move, and may ask for memory in it
 * (vm_make_env_each). */
static const VALUE *
moved(const VALUE *ep)
{
    VALUE flags = ep[VM_ENV_DATA_INDEX_FLAGS];
    return FIXNUM_P(flags) ? ep : ((const rb_env_t *)flags)->ep;
}

/* The method of an environment's entry, which is a method, a cref, or a svar with one of them. */
static const rb_callable_method_entry_t *
method_in(VALUE object)
{
    if (imemo_type_p(object, imemo_svar)) object = ((const struct vm_svar *)object)->cref_or_me;
    return imemo_type_p(object, imemo_ment) ? (const rb_callable_method_entry_t *)object : NULL;
}

/* The method of a frame, found as rb_vm_frame_method_entry does, which may not be called during
 * such a move. NULL if the environments end without a method's: then they are not complete. */
static inline const rb_callable_method_entry_t *
method_of(const rb_control_frame_t *cfp)
{
    const VALUE *ep = cfp->ep;

    while (ep) {
        ep = moved(ep);
        const rb_callable_method_entry_t *method = method_in(ep[VM_ENV_DATA_INDEX_ME_CREF]);
        if (method || VM_ENV_LOCAL_P(ep)) return method;
        ep = VM_ENV_PREV_EP(ep);
    }
    return NULL;
}

/* ---- notes ---- */

#if SIZEOF_VALUE == 8
enum { NOTE_SHIFT = 32 };

STATIC_ASSERT(notes_have_the_upper_half,
              (VM_FRAME_MAGIC_MASK | (VALUE)VM_FRAME_FLAG_FINISH | VM_FRAME_FLAG_BMETHOD |
               VM_FRAME_FLAG_CFRAME | VM_FRAME_FLAG_LAMBDA | VM_FRAME_FLAG_MODIFIED_BLOCK_PARAM |
               VM_FRAME_FLAG_CFRAME_KW | VM_FRAME_FLAG_PASSED | VM_ENV_FLAG_LOCAL |
               VM_ENV_FLAG_ESCAPED | VM_ENV_FLAG_WB_REQUIRED | VM_ENV_FLAG_ISOLATED) >>
                      NOTE_SHIFT ==
                  0);

static uint32_t
note_of(const rb_control_frame_t *cfp)
{
    VALUE flags = cfp->ep[VM_ENV_DATA_INDEX_FLAGS];
    return FIXNUM_P(flags) ? (uint32_t)(flags >> NOTE_SHIFT) : 0;
}

static void
write_note(const rb_control_frame_t *cfp, uint32_t note)
{
    VALUE flags = cfp->ep[VM_ENV_DATA_INDEX_FLAGS];

    if (!FIXNUM_P(flags)) return;
    flags = (VALUE)note << NOTE_SHIFT | (uint32_t)flags;
    VM_FORCE_WRITE_SPECIAL_CONST(&cfp->ep[VM_ENV_DATA_INDEX_FLAGS], flags);
}
#else
static uint32_t note_of(const rb_control_frame_t *cfp) { return 0; }
static void write_note(const rb_control_frame_t *cfp, uint32_t note) { }
#endif

/* A note is a stack number. 0, the empty stack, is the note of the outermost frame. */
static uint32_t note_of_stack(uint32_t stack) { return stack + 1; }
static uint32_t stack_of_note(uint32_t note) { return note - 1; }

static const rb_control_frame_t *
dummy_frame(const rb_execution_context_t *ec)
{
    return RUBY_VM_NEXT_CONTROL_FRAME(RUBY_VM_END_CONTROL_FRAME(ec));
}

/* RJIT's compiler runs as Ruby above the frame that it compiles for, and writes that frame's pc
 * (branch_stub_hit in compiler.rb). So a caller's line may change. No other code does that. */
static uint32_t
edition_now(void)
{
    return rb_rjit_enabled ? UINT32_MAX : walks.edition;
}

static bool
notes_good_p(const rb_execution_context_t *ec)
{
    uint32_t edition = edition_now();
    return edition != UINT32_MAX && note_of(dummy_frame(ec)) == edition;
}

/* ---- the walk ---- */

/* The frames to be entered. They lie one behind the other in memory. So a walk goes outwards to
 * find their end, comes back inwards, and needs no room, however deep the stack is. */
struct frame_walk {
    const rb_control_frame_t *innermost;
    const rb_control_frame_t *outermost; /* void if there is no frame */
    size_t   count;                      /* of the frames that count */
    uint32_t callers;                    /* the stack of the frames outside of them */
    bool     stand;                      /* one of them may stand for the next one outside */
};

/* Walks outwards to the first frame with a note, or to the wanted number of frames. */
static struct frame_walk
go_outwards(const rb_execution_context_t *ec, bool noted, size_t most)
{
    const rb_control_frame_t *end = dummy_frame(ec);
    struct frame_walk walk = {.innermost = ec->cfp};
    uint32_t note = 0;
    bool skip = false;

    for (const rb_control_frame_t *cfp = ec->cfp; cfp < end && !note && walk.count < most;
         cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp)) {
        bool skipped = false;
        if (cfp->iseq) {
            if (!runs_p(cfp)) continue;
            skipped = skip;
            skip = stands_for_outer_p(cfp->iseq);
            walk.stand |= skip;
        }
        if (noted) note = note_of(cfp);
        else if (skipped) write_note(cfp, 0);
        if (skipped) continue;
        walk.outermost = cfp;
        walk.count++;
    }
    walk.callers = note ? stack_of_note(note) : 0;
    return walk;
}

/* Whether the next frame inwards that runs code stands for this one. */
static bool
stood_for_p(const rb_control_frame_t *cfp, const rb_control_frame_t *innermost)
{
    while (cfp > innermost) {
        cfp = RUBY_VM_NEXT_CONTROL_FRAME(cfp);
        if (cfp->iseq && runs_p(cfp)) return stands_for_outer_p(cfp->iseq);
    }
    return false;
}

static bool
counts_p(const struct frame_walk *walk, const rb_control_frame_t *cfp)
{
    return !cfp->iseq || (runs_p(cfp) && !(walk->stand && stood_for_p(cfp, walk->innermost)));
}

/* RJIT's compiler runs as Ruby above a frame whose code has not written its pc yet. Then the pc
 * is of another iseq, and the line is unknown (0). It is unknown, too, if eval begins at a line
 * below 0. */
static uint32_t
line_of(const struct known_frame *frame)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(frame->iseq);
    size_t position = frame->pc - body->iseq_encoded;

    if (position > body->iseq_size) return 0;
    if (position) position--; /* the pc is already at the next instruction */
    int line = (int)rb_iseq_line_no(frame->iseq, position);
    return line < 0 ? 0 : (uint32_t)line;
}

static uint32_t
push(uint32_t caller, const struct known_frame *frame)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t number = rb_heapprof_function_of(frame->iseq, frame->method);
    if (number == 0) return HEAPPROF_NO_STACK;

    bool cfunc = rb_heapprof_functions_get(&tables->functions, number)->cfunc;
    return rb_heapprof_stacks_push(&tables->stacks, caller, number, cfunc ? 0 : line_of(frame));
}

/* By where the frame is, and what its environment has for its method. */
static struct known_frame *
find_known(uint32_t caller, const rb_control_frame_t *cfp, VALUE entry)
{
    uint64_t place = cfp->iseq ? (uintptr_t)cfp->pc : 0;
    uint64_t hash = (place + (entry << 17) + caller) * UINT64_C(0x9e3779b97f4a7c15);

    return &walks.known[hash >> 40 & (KNOWN_FRAMES - 1)];
}

/* True if that is the frame's method. Mostly it is where it is looked for first. */
static inline bool
method_p(const rb_callable_method_entry_t *method, const rb_control_frame_t *cfp)
{
    bool there = method && cfp->ep[VM_ENV_DATA_INDEX_ME_CREF] == (VALUE)method;
    return there || method == method_of(cfp);
}

static inline bool
known_p(const struct known_frame *known, uint32_t caller, const rb_control_frame_t *cfp)
{
    return known->stack && known->age == walks.age && known->caller == caller &&
           known->iseq == cfp->iseq && (!cfp->iseq || known->pc == cfp->pc) &&
           method_p(known->method, cfp);
}

/* The stack of one frame more than its caller's. HEAPPROF_NO_STACK if memory is refused. */
static uint32_t
enter(uint32_t caller, const rb_control_frame_t *cfp)
{
    VALUE entry = cfp->ep[VM_ENV_DATA_INDEX_ME_CREF];
    struct known_frame *known = find_known(caller, cfp, entry);

    if (known_p(known, caller, cfp)) return known->stack;
    if (imemo_type_p(entry, imemo_svar)) { /* each call of the method has its own */
        known = find_known(caller, cfp, ((const struct vm_svar *)entry)->cref_or_me);
        if (known_p(known, caller, cfp)) return known->stack;
    }
    struct known_frame frame = { .iseq = cfp->iseq,
                                 .pc = cfp->iseq ? cfp->pc : NULL,
                                 .method = method_of(cfp),
                                 .caller = caller,
                                 .age = walks.age };
    frame.stack = push(caller, &frame);
    if (frame.stack != HEAPPROF_NO_STACK) *known = frame;
    return frame.stack;
}

/* The stack of the walk's frames, on top of their callers'. Each frame gets a note later. */
static uint32_t
come_inwards(const struct frame_walk *walk, uint32_t stack, bool noted)
{
    const rb_control_frame_t *cfp = walk->outermost;

    for (size_t left = walk->count; left > 0; cfp = RUBY_VM_NEXT_CONTROL_FRAME(cfp)) {
        if (!counts_p(walk, cfp)) continue;
        left--;
        if (noted) write_note(cfp, note_of_stack(stack));
        stack = enter(stack, cfp);
        if (stack == HEAPPROF_NO_STACK) break;
    }
    return stack;
}

/* ---- known tops ---- */

/* Those of that place, by where the innermost two or three frames are. There is one frame at least,
 * and the dummy outside of it. */
static struct known_top *
find_tops(const rb_execution_context_t *ec)
{
    const rb_control_frame_t *cfp = ec->cfp, *end = dummy_frame(ec);
    uint64_t hash = (uintptr_t)cfp[0].pc + ((uintptr_t)cfp[1].pc << 1);

    if (cfp + 2 < end) hash += (uintptr_t)cfp[2].pc << 2;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return walks.tops[hash >> 40 & (KNOWN_TOPS - 1)];
}

static inline bool
same_frame_p(const struct top_frame *known, const rb_control_frame_t *cfp)
{
    return known->iseq == cfp->iseq && known->pc == cfp->pc && method_p(known->method, cfp);
}

/* The stack, if its innermost frames are those of that walk, and the first note among them is what
 * it was then. Otherwise HEAPPROF_NO_STACK. A walk would have the same result: which frames count,
 * and what they are, follows from what is compared, and the note stands for the rest. */
static inline uint32_t
capture_as(const rb_execution_context_t *ec, const struct known_top *top)
{
    const rb_control_frame_t *cfp = ec->cfp;

    if (top->age != walks.age || &cfp[top->count] > dummy_frame(ec)) return HEAPPROF_NO_STACK;
    for (size_t inner = 0; inner < top->count; inner++) {
        if (!same_frame_p(&top->frames[inner], &cfp[inner])) break;
        if (note_of(&cfp[inner]) != top->frames[inner].note) continue;
        for (size_t i = 0; i < inner; i++) write_note(&cfp[i], top->frames[i].note);
        return top->stack;
    }
    return HEAPPROF_NO_STACK;
}

__attribute__((noinline)) static uint32_t
capture_as_earlier(const rb_execution_context_t *ec, const struct known_top *tops)
{
    uint32_t stack = HEAPPROF_NO_STACK;

    for (size_t way = 1; way < WAYS && stack == HEAPPROF_NO_STACK; way++)
        stack = capture_as(ec, &tops[way]);
    return stack;
}

static inline uint32_t
capture_known(const rb_execution_context_t *ec)
{
    const struct known_top *tops = find_tops(ec);
    uint32_t stack = capture_as(ec, &tops[0]);

    return stack == HEAPPROF_NO_STACK ? capture_as_earlier(ec, tops) : stack;
}

/* Whether a walk passed over no frame, up to one that bore its note. */
static bool
plain_p(const struct frame_walk *walk)
{
    return walk->count > 0 && walk->count <= numberof(((struct known_top *)0)->frames) &&
           walk->outermost == walk->innermost + (walk->count - 1) &&
           note_of(walk->outermost) == note_of_stack(walk->callers);
}

/* Of a plain walk, whose frames bear their notes now. */
static void
remember_top(const rb_execution_context_t *ec, const struct frame_walk *walk, uint32_t stack)
{
    struct known_top *top = find_tops(ec);

    memmove(top + 1, top, (WAYS - 1) * sizeof(*top));
    top->count = 0; /* until it is whole */
    for (size_t i = 0; i < walk->count; i++) {
        const rb_control_frame_t *cfp = &walk->innermost[i];
        top->frames[i] =
            (struct top_frame){ cfp->iseq, cfp->pc, method_of(cfp), note_of(cfp) };
        if (!top->frames[i].note) return;
    }
    top->count = (uint32_t)walk->count;
    top->stack = stack;
    top->age = walks.age;
}

/* ---- stacks that are too deep ---- */

static uint32_t
depth_of(uint32_t stack)
{
    return stack ? rb_heapprof_stacks_node(&rb_heapprof.tables.stacks, stack)->depth : 0;
}

static uint32_t
truncated_stack(void)
{
    uint32_t function = rb_heapprof_function_truncated();
    if (function == 0) return HEAPPROF_NO_STACK;
    return rb_heapprof_stacks_push(&rb_heapprof.tables.stacks, 0, function, 0);
}

static uint32_t
cut(uint32_t whole, uint32_t depth)
{
    struct heapprof_stacks *stacks = &rb_heapprof.tables.stacks;
    if (!HEAPPROF_MEM_GROW(&rb_heapprof.mem, walks.path, walks.path_capacity, depth))
        return HEAPPROF_NO_STACK;

    for (uint32_t i = 0; i < depth; i++) {
        walks.path[i] = whole;
        whole = rb_heapprof_stacks_node(stacks, whole)->parent;
    }
    uint32_t stack = truncated_stack();
    for (uint32_t i = depth; i-- > 0 && stack != HEAPPROF_NO_STACK; ) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(stacks, walks.path[i]);
        stack = rb_heapprof_stacks_push(stacks, stack, node->function, node->line);
    }
    return stack;
}

static uint32_t
cut_stack(uint32_t whole, uint32_t depth)
{
    struct known_cut *known = &walks.cuts[whole & (KNOWN_CUTS - 1)];

    if (known->whole != whole || known->edition != walks.edition) {
        uint32_t stack = cut(whole, depth);
        if (stack == HEAPPROF_NO_STACK) return stack;
        *known = (struct known_cut){ whole, walks.edition, stack };
    }
    return known->stack;
}

/* The cut stack, if there is no memory for the whole one, or the whole one is too large for the
 * budget. */
static uint32_t
capture_cut(const rb_execution_context_t *ec, uint32_t depth)
{
    struct frame_walk walk = go_outwards(ec, false, depth);
    uint32_t stack = truncated_stack();
    return stack == HEAPPROF_NO_STACK ? stack : come_inwards(&walk, stack, false);
}

/* How many frames of a stack may be entered: as many as fit in an eighth of the budget. So the
 * rest of the tables can always make room for one more stack. */
static uint32_t
most_frames(void)
{
    enum { bytes_each = 32 }; /* a node, and its place in the index */
    size_t most = rb_heapprof.mem.budget_bytes / 8 / bytes_each;
    return most < INT32_MAX ? (uint32_t)most : INT32_MAX;
}

/* ---- debug ---- */

enum { CHECKED_FRAMES = 4000 }; /* more would cost the square of a deep recursion */

/* Checks that a whole walk, without notes and known frames, has the same result. */
static void
check_capture(const rb_execution_context_t *ec, uint32_t stack)
{
    uint32_t depth = rb_heapprof.run.options.depth, whole = 0;
    struct frame_walk walk = go_outwards(ec, false, SIZE_MAX);
    const rb_control_frame_t *cfp = walk.outermost;
    if (walk.count > CHECKED_FRAMES) return;

    for (size_t left = walk.count; left > 0 && whole != HEAPPROF_NO_STACK;
         cfp = RUBY_VM_NEXT_CONTROL_FRAME(cfp)) {
        struct known_frame frame = {.iseq = cfp->iseq, .pc = cfp->iseq ? cfp->pc : NULL};
        if (!counts_p(&walk, cfp)) continue;
        frame.method = method_of(cfp);
        whole = push(whole, &frame);
        left--;
    }
    if (walk.count > depth && whole != HEAPPROF_NO_STACK) whole = cut(whole, depth);
    HEAPPROF_ASSERT(whole == stack || whole == HEAPPROF_NO_STACK || stack == HEAPPROF_NO_STACK);
}

/* ---- all of it ---- */

/* Gives each of the walk's frames a note. */
static uint32_t
capture_whole(const rb_execution_context_t *ec, const struct frame_walk *walk, bool noted)
{
    uint32_t stack = come_inwards(walk, walk->callers, true);
    if (stack != HEAPPROF_NO_STACK && !noted) write_note(dummy_frame(ec), edition_now());
    return stack;
}

__attribute__((noinline)) static uint32_t
capture(const rb_execution_context_t *ec, uint32_t depth)
{
    uint32_t most = most_frames();
    bool noted = notes_good_p(ec);

    rb_heapprof.work.stack_used |= HEAPPROF_STACK_WALKED;
    struct frame_walk walk = go_outwards(ec, noted, (size_t)most + 1);
    size_t frames = depth_of(walk.callers) + walk.count;

    if (depth > most) depth = most;
    bool plain = noted && frames <= depth && plain_p(&walk);
    uint32_t stack = frames > most ? HEAPPROF_NO_STACK : capture_whole(ec, &walk, noted);
    if (plain && stack != HEAPPROF_NO_STACK) remember_top(ec, &walk, stack);
    if (frames <= depth) return stack;

    rb_heapprof.account.truncated++;
    if (stack != HEAPPROF_NO_STACK) stack = cut_stack(stack, depth);
    return stack == HEAPPROF_NO_STACK ? capture_cut(ec, depth) : stack;
}

/* Numbers of stacks without a hold are void: notes, and what is known of addresses of code, are
 * of them. */
static void
forget_numbers(void)
{
    walks.numbers = rb_heapprof_numbers_edition;
    if (walks.edition != UINT32_MAX) walks.edition++;
    walks.age++;
}

void
rb_heapprof_frames_forget_code(void)
{
    walks.age++;
}

uint32_t
rb_heapprof_frames_capture(const rb_execution_context_t *ec)
{
    if (!ec || !ec->cfp || !ec->vm_stack) return 0;

    if (walks.numbers != rb_heapprof_numbers_edition) forget_numbers();
    if (walks.freed != ruby_vm_code_generation) {
        walks.freed = ruby_vm_code_generation;
        rb_heapprof_frames_forget_code();
    }
    uint32_t stack = ec->cfp < dummy_frame(ec) && notes_good_p(ec) ? capture_known(ec)
                                                                   : HEAPPROF_NO_STACK;
    if (stack == HEAPPROF_NO_STACK) stack = capture(ec, rb_heapprof.run.options.depth);
    if (HEAPPROF_CHECK) check_capture(ec, stack);
    return stack;
}

uintptr_t
rb_heapprof_frames_c_method(const rb_execution_context_t *ec)
{
    if (!ec || !ec->cfp || !ec->vm_stack || ec->cfp >= dummy_frame(ec) ||
        VM_FRAME_TYPE(ec->cfp) != VM_FRAME_MAGIC_CFUNC)
        return 0;
    const rb_callable_method_entry_t *method = method_of(ec->cfp);
    if (!method || method->def->type != VM_METHOD_TYPE_CFUNC) return 0;
    return (uintptr_t)UNALIGNED_MEMBER_PTR(method->def, body.cfunc)->func;
}

uintptr_t
rb_heapprof_frames_allocator(const rb_execution_context_t *ec)
{
    if (rb_heapprof_frames_c_method(ec) != (uintptr_t)rb_class_new_instance_pass_kw) return 0;
    VALUE self = ec->cfp->self;
    return RB_TYPE_P(self, T_CLASS) ? (uintptr_t)rb_get_alloc_func(self) : 0;
}

void
rb_heapprof_frames_free(void)
{
    struct heapprof_mem *mem = &rb_heapprof.mem;

    forget_numbers();
    /* Or memcheck would take these addresses for pointers of the program. */
    memset(walks.known, 0, sizeof(walks.known));
    memset(walks.tops, 0, sizeof(walks.tops));
    HEAPPROF_MEM_RELEASE(mem, walks.path, walks.path_capacity);
}
