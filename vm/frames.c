/* frames.c - from control frames to a stack number.
 *
 * The frames of a Ruby backtrace, outermost first, each a function and a line:
 *
 *     control frames   cfp ->  Array#map | block in run | run | <main> | (dummy)
 *     recent                   Array#map | block in run | run | <main>
 *                                                 <-- same as last time --
 *
 * Consecutive samples share most of their stack. The frames and nodes of the last
 * stack are kept; walking inwards from the outermost frame, only what differs is
 * looked up and pushed. A frame is the same when iseq, pc and method entry are; since
 * those are addresses, a GC makes us forget (rb_heapprof_frames_forget).
 *
 * Which frames count, and that a rescue or ensure frame stands for the method's own,
 * follows rb_ec_partial_backtrace_object in vm_backtrace.c.
 *
 * Under the VM lock. No Ruby allocation, no raise, no GC.
 */
#include "ruby/ruby.h"
#include "frames.h"
#include "gc/state.h"
#include "internal/vm.h"
#include "iseq.h"
#include "names.h"

struct frame {
    const rb_iseq_t *iseq;  /* NULL: a C method */
    const VALUE *pc;
    const rb_callable_method_entry_t *method;
    uint32_t node;          /* the stack from the outermost frame to this one */
};

/* Both innermost first. */
static struct {
    struct frame *frames;   /* of the stack being walked */
    size_t frames_capacity;
    struct frame *last;     /* of the one before */
    size_t last_capacity;
    size_t last_count;
    bool last_cut;          /* the outermost of these stood below [truncated] */
} recent;

/* Whether there is code: a frame that only names a file being read or loaded has no pc, nor has a
 * block written in C. README.md, "The walk may come at any allocation", says why nothing else is
 * half made; one whose code has no body is passed over all the same, rather than read. */
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

/* The environment that ep is of now. While a block's environments move to the heap the outermost has
 * moved and the next still points to its old place, where the new one stands instead of the flags;
 * and YJIT, told of that, may ask for memory (vm_make_env_each). */
static const VALUE *
moved(const VALUE *ep)
{
    VALUE flags = ep[VM_ENV_DATA_INDEX_FLAGS];
    return FIXNUM_P(flags) ? ep : ((const rb_env_t *)flags)->ep;
}

/* Of what stands in an environment: a method, a cref, or a svar with one of them. */
static const rb_callable_method_entry_t *
method_in(VALUE object)
{
    if (imemo_type_p(object, imemo_svar)) object = ((const struct vm_svar *)object)->cref_or_me;
    return imemo_type_p(object, imemo_ment) ? (const rb_callable_method_entry_t *)object : NULL;
}

/* As rb_vm_frame_method_entry finds it, which may not be asked in the midst of such a move. None
 * where the environments end without a method's: then they are not whole. */
static const rb_callable_method_entry_t *
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

/* Collects up to depth frames, innermost first; *cut tells whether there were more.
 * SIZE_MAX when memory is refused. */
static size_t
collect(const rb_execution_context_t *ec, size_t depth, bool *cut)
{
    struct heapprof_mem *mem = &rb_heapprof.mem;
    const rb_control_frame_t *cfp = ec->cfp;
    const rb_control_frame_t *end = RUBY_VM_NEXT_CONTROL_FRAME(RUBY_VM_END_CONTROL_FRAME(ec));
    bool skip = false;
    size_t count = 0;

    *cut = false;
    for (; cfp < end; cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp)) {
        if (cfp->iseq) {
            if (!runs_p(cfp)) continue;
            bool skipped = skip;
            skip = stands_for_outer_p(cfp->iseq);
            if (skipped) continue;
        }
        if (count == depth) {
            *cut = true;
            break;
        }
        if (count == recent.frames_capacity &&
            !HEAPPROF_MEM_GROW(mem, recent.frames, recent.frames_capacity, count + 1)) {
            return SIZE_MAX;
        }
        recent.frames[count++] = (struct frame){
            cfp->iseq, cfp->iseq ? cfp->pc : NULL, method_of(cfp), 0
        };
    }
    return count;
}

/* RJIT's compiler runs as Ruby above a frame whose code has not written its pc yet: then
 * that is of another iseq, and the line unknown. eval may begin at a line below 0: unknown, too. */
static uint32_t
line_of(const struct frame *frame)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(frame->iseq);
    size_t position = frame->pc - body->iseq_encoded;

    if (position > body->iseq_size) return 0;
    if (position) position--; /* the pc is already at the next instruction */
    int line = (int)rb_iseq_line_no(frame->iseq, position);
    return line < 0 ? 0 : (uint32_t)line;
}

static uint32_t
push(uint32_t parent, const struct frame *frame)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t number = rb_heapprof_function_of(frame->iseq, frame->method);
    if (number == 0) return HEAPPROF_NO_STACK;

    bool cfunc = rb_heapprof_functions_get(&tables->functions, number)->cfunc;
    return rb_heapprof_stacks_push(&tables->stacks, parent, number, cfunc ? 0 : line_of(frame));
}

static bool
same_p(const struct frame *a, const struct frame *b)
{
    return a->iseq == b->iseq && a->pc == b->pc && a->method == b->method;
}

/* The node of the frames that are as they were last time, node if none is; *rest frames are left. */
static uint32_t
shared_part(uint32_t node, size_t count, size_t *rest)
{
    const struct frame *now = recent.frames + count, *before = recent.last + recent.last_count;

    while (now > recent.frames && before > recent.last && same_p(now - 1, before - 1)) {
        now--, before--;
        recent.frames[now - recent.frames].node = node = before->node;
    }
    *rest = now - recent.frames;
    return node;
}

static void
remember(size_t count, bool cut)
{
    struct frame *frames = recent.frames;
    size_t capacity = recent.frames_capacity;

    recent.frames = recent.last;
    recent.frames_capacity = recent.last_capacity;
    recent.last = frames;
    recent.last_capacity = capacity;
    recent.last_count = count;
    recent.last_cut = cut;
}

/* The stack's number below the first frames that differ, starting from the node above them. */
static uint32_t
push_rest(uint32_t node, size_t rest)
{
    while (rest-- > 0) {
        node = push(node, &recent.frames[rest]);
        if (node == HEAPPROF_NO_STACK) break;
        recent.frames[rest].node = node;
    }
    return node;
}

static uint32_t
truncated_stack(void)
{
    uint32_t function = rb_heapprof_function_truncated();
    rb_heapprof.truncated++;
    if (function == 0) return HEAPPROF_NO_STACK;
    return rb_heapprof_stacks_push(&rb_heapprof.tables.stacks, 0, function, 0);
}

uint32_t
rb_heapprof_frames_capture(const rb_execution_context_t *ec)
{
    size_t rest;
    bool cut;

    if (!ec || !ec->cfp || !ec->vm_stack) return 0;

    size_t count = collect(ec, rb_heapprof.options.depth, &cut);
    if (count == SIZE_MAX) return HEAPPROF_NO_STACK;

    uint32_t node = cut ? truncated_stack() : 0;
    if (cut != recent.last_cut) recent.last_count = 0; /* their nodes are below another root */
    if (node != HEAPPROF_NO_STACK) {
        node = shared_part(node, count, &rest);
        node = push_rest(node, rest);
    }
    if (node == HEAPPROF_NO_STACK) {
        recent.last_count = 0;
        return node;
    }
    remember(count, cut);
    return node;
}

void
rb_heapprof_frames_forget(void)
{
    recent.last_count = 0;
}

void
rb_heapprof_frames_free(void)
{
    struct heapprof_mem *mem = &rb_heapprof.mem;

    recent.last_count = 0;
    HEAPPROF_MEM_RELEASE(mem, recent.frames, recent.frames_capacity);
    HEAPPROF_MEM_RELEASE(mem, recent.last, recent.last_capacity);
}
