/* look.c - copies all stacks at one moment, and names their frames. */
#include "attach/look.h"

#include <stdlib.h>

#include "attach/cpu.h"

enum { STOP_LIMIT_NS = 200 * 1000 * 1000 };

#define BUDGET_BYTES ((size_t)1 << 30)

struct attach_looks *
attach_look_open(struct attach_target *target, struct attach_names *names,
                 enum attach_look_mode mode, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_vm *vm = attach_vm_open(target, error);
    if (!vm) return NULL;
    struct attach_looks *looks = calloc(1, sizeof(*looks));
    struct attach_stop *stop = target->runs ? attach_stop_new(target->pid) : NULL;

    if (!looks || (target->runs && !stop)) {
        attach_target_say(target, error, "no memory");
        attach_stop_free(stop);
        attach_vm_close(vm);
        free(looks);
        return NULL;
    }
    *looks = (struct attach_looks){
        .target = target, .vm = vm, .names = names, .stop = stop, .mode = mode
    };
    rb_heapprof_mem_init(&looks->mem, BUDGET_BYTES);
    attach_walk_init(&looks->walk, vm, &looks->mem);
    attach_memos_init(&looks->memos, vm, &looks->mem);
    attach_codes_init(&looks->codes, vm, names, &looks->mem);
    return looks;
}

void
attach_look_close(struct attach_looks *looks)
{
    if (!looks) return;
    attach_stop_free(looks->stop);
    attach_walk_free(&looks->walk);
    attach_memos_free(&looks->memos);
    HEAPPROF_MEM_RELEASE(&looks->mem, looks->stacks, looks->stack_capacity);
    HEAPPROF_MEM_RELEASE(&looks->mem, looks->frames, looks->frame_capacity);
    attach_fibers_free(&looks->fibers, &looks->mem);
    attach_threads_free(&looks->threads, &looks->mem);
    attach_codes_free(&looks->codes);
    attach_vm_close(looks->vm);
    free(looks);
}

/* ---- what a thread is doing ---- */

/* The tid of its native thread in our pid namespace; 0 if it has none. */
static pid_t
tid_of(struct attach_looks *looks, const struct attach_thread *thread)
{
    if (!thread->tid) return 0;
    pid_t tid = attach_target_tid(looks->target, thread->tid);
    if (!tid && attach_target_threads(looks->target))
        tid = attach_target_tid(looks->target, thread->tid);
    return tid;
}

/* True if the VM collects garbage. Then a thread with the GVL does it. */
static bool
collecting_p(struct attach_looks *looks)
{
    uint64_t collecting;

    return attach_vm_get(looks->vm, attach_vm_objspace(looks->vm), &looks->vm->collecting,
                         &collecting) &&
           collecting;
}

/* Must be asked before the thread is stopped. */
static void
tell_cpu(struct attach_looks *looks, struct attach_look_stack *stack)
{
    enum attach_thread_state state = stack->thread.state;
    enum attach_cpu_state cpu = ATTACH_CPU_WAITS;

    if ((state == ATTACH_THREAD_RUNNING && looks->with_cpu) || state == ATTACH_THREAD_BLOCKED) {
        cpu = attach_cpu_state(looks->target, tid_of(looks, &stack->thread));
    }
    stack->on_cpu = cpu == ATTACH_CPU_RUNS;
    stack->idle = state == ATTACH_THREAD_SLEEPING || state == ATTACH_THREAD_FIBER ||
                  state == ATTACH_THREAD_ENDED ||
                  (state == ATTACH_THREAD_BLOCKED && cpu == ATTACH_CPU_WAITS);
}

/* ---- the names ---- */

static bool
add_frame(struct attach_looks *looks, uint32_t function, uint32_t line)
{
    if (!HEAPPROF_MEM_GROW(&looks->mem, looks->frames, looks->frame_capacity,
                           looks->frame_count + 1))
        return false;
    looks->frames[looks->frame_count++] = (struct attach_look_frame){function, line};
    return true;
}

/* Adds the frames that a backtrace shows. A rescue or ensure clause stands for the frame directly
 * below it. A frame that names a file being read, and a block of C, have no code. */
static bool
add_frames(struct attach_looks *looks)
{
    struct attach_walk *walk = &looks->walk;
    bool skip = false;

    for (size_t i = 0; i < walk->frame_count; i++) {
        struct attach_code_key code = attach_walk_code(walk, &looks->codes, i);
        if (code.iseq && !code.pc) continue;
        const struct attach_code_known *known = attach_code_find(&looks->codes, &code);
        if (!known) return false;
        bool skipped = skip && code.iseq;
        if (code.iseq) skip = known->stands_for_outer;
        if (!skipped && !add_frame(looks, known->function, known->line)) return false;
    }
    return true;
}

/* A C function gets the file and the line of the Ruby function that called it. */
static bool
place_c_functions(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    uint32_t caller = 0, line = 0;

    for (size_t i = stack->count; i-- > 0; ) {
        struct attach_look_frame *frame = &looks->frames[stack->first + i];
        if (!attach_names_get(looks->names, frame->function)->cfunc) {
            caller = frame->function;
            line = frame->line;
        }
        else if (caller) {
            frame->function = attach_names_called_from(looks->names, frame->function, caller);
            frame->line = line;
            if (!frame->function) return false;
        }
    }
    return true;
}

static bool
add_torn(struct attach_looks *looks)
{
    uint32_t function = attach_names_mark(looks->names, "(torn)");
    return function && add_frame(looks, function, 0);
}

/* Returns false without memory. */
static bool
name_stack(struct attach_looks *looks, struct attach_look_stack *stack)
{
    stack->torn = !stack->failed && looks->walk.torn > 0;
    if (stack->failed) return true;
    if (stack->torn && !add_torn(looks)) return false;
    if (!add_frames(looks)) return false;
    stack->count = looks->frame_count - stack->first;
    return place_c_functions(looks, stack);
}

/* ---- one stack; each is false when there is no memory ---- */

static bool
read_as_it_is(struct attach_looks *looks, struct attach_look_stack *stack)
{
    stack->failed = !attach_walk_copy(&looks->walk, stack->thread.ec);
    return name_stack(looks, stack);
}

static bool
read_unstopped(struct attach_looks *looks, struct attach_look_stack *stack)
{
    stack->failed = !attach_walk_copy(&looks->walk, stack->thread.ec);
    if (!stack->failed) attach_walk_cut_torn(&looks->walk);
    return name_stack(looks, stack);
}

static bool
read_stopped(struct attach_looks *looks, struct attach_look_stack *stack)
{
    pid_t tid = tid_of(looks, &stack->thread);

    if (!tid || attach_stop_thread(looks->stop, tid, STOP_LIMIT_NS) != ATTACH_STOPPED) {
        looks->counts.not_stopped++;
        return read_unstopped(looks, stack);
    }
    looks->counts.stopped++;
    bool room = read_as_it_is(looks, stack);
    attach_stop_resume(looks->stop);
    return room;
}

/* True if the thread waits, and a second look at its frames shows the same. */
static bool
waits_p(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    bool fiber = stack->thread.state == ATTACH_THREAD_FIBER;

    return stack->thread.state != ATTACH_THREAD_RUNNING &&
           attach_walk_copy(&looks->walk, stack->thread.ec) && attach_walk_same_p(&looks->walk) &&
           (fiber || !attach_thread_running_p(looks->vm, &stack->thread));
}

/* The stack of a thread, if it waits as it did at the last look. */
static const struct attach_memo_entry *
find_remembered(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    if (stack->thread.state == ATTACH_THREAD_RUNNING) return NULL;
    attach_target_ahead_resume(looks->target);
    const struct attach_memo_entry *entry =
        attach_memos_find(&looks->memos, looks->stack_count, stack->thread.ec);
    attach_target_ahead_pause(looks->target);
    return entry;
}

static bool
add_remembered(struct attach_looks *looks, struct attach_look_stack *stack,
               const struct attach_memo_entry *entry)
{
    stack->count = entry->count;
    for (size_t i = 0; i < entry->count; i++) {
        const struct attach_look_frame *frame = &looks->memos.now.frames[entry->first + i];
        if (!add_frame(looks, frame->function, frame->line)) return false;
    }
    return true;
}

static bool
read_waiting(struct attach_looks *looks, struct attach_look_stack *stack)
{
    if (!name_stack(looks, stack)) return false;
    attach_memos_add(&looks->memos, looks->stack_count, &looks->walk, &looks->frames[stack->first],
                     stack->count);
    return true;
}

static bool
read_stack(struct attach_looks *looks, struct attach_look_stack *stack, bool still)
{
    if (!stack->thread.ec) return true; /* it has ended */
    tell_cpu(looks, stack);
    stack->collecting = stack->thread.state == ATTACH_THREAD_RUNNING && looks->collecting;
    if (still) return read_as_it_is(looks, stack);
    if (looks->mode != ATTACH_LOOK_AUTO) return read_unstopped(looks, stack);
    const struct attach_memo_entry *entry = find_remembered(looks, stack);
    if (entry) return add_remembered(looks, stack, entry);
    return waits_p(looks, stack) ? read_waiting(looks, stack) : read_stopped(looks, stack);
}

/* ---- all of them ---- */

/* Stops all threads if the mode says so. Returns true if nothing can change. */
static bool
stop_all(struct attach_looks *looks)
{
    if (!looks->target->runs) return true;
    if (looks->mode != ATTACH_LOOK_ALWAYS) return false;
    if (attach_stop_all(looks->stop, looks->target, STOP_LIMIT_NS) == ATTACH_STOPPED) {
        looks->counts.stopped += looks->target->thread_count;
        return true;
    }
    looks->counts.not_stopped++;
    return false;
}

static bool
read_next(struct attach_looks *looks, const struct attach_thread *thread, bool still)
{
    if (!HEAPPROF_MEM_GROW(&looks->mem, looks->stacks, looks->stack_capacity,
                           looks->stack_count + 1))
        return false;
    struct attach_look_stack *stack = &looks->stacks[looks->stack_count];
    *stack = (struct attach_look_stack){.thread = *thread, .first = looks->frame_count};
    if (!read_stack(looks, stack, still)) return false;
    looks->stack_count++;
    looks->counts.torn += stack->torn;
    looks->counts.failed += stack->failed;
    return true;
}

/* Reads what all stacks have in common. */
static bool
begin(struct attach_looks *looks)
{
    attach_target_ahead_begin(looks->target);
    attach_memos_begin(&looks->memos, attach_codes_refresh(&looks->codes));
    looks->collecting = collecting_p(looks);
    bool read = attach_threads_read(&looks->threads, looks->vm, &looks->mem);
    attach_target_ahead_pause(looks->target);
    return read;
}

static bool
read_all(struct attach_looks *looks, bool still)
{
    looks->stack_count = looks->frame_count = 0;
    if (!begin(looks)) return false;
    for (size_t i = 0; i < looks->threads.count; i++) {
        if (!read_next(looks, &looks->threads.all[i], still)) return false;
    }
    if (!looks->with_fibers) return true;
    if (!attach_fibers_read(&looks->fibers, looks->vm, &looks->threads, &looks->mem)) return false;
    for (size_t i = 0; i < looks->fibers.count; i++) {
        if (!read_next(looks, &looks->fibers.all[i], still)) return false;
    }
    return true;
}

bool
attach_look(struct attach_looks *looks)
{
    bool still = stop_all(looks), read = read_all(looks, still);
    if (still && looks->stop) attach_stop_resume(looks->stop);
    looks->counts.looks += read;
    looks->counts.stacks += looks->stack_count;
    return read && attach_target_state(looks->target) == ATTACH_TARGET_SAME;
}

void
attach_look_name(struct attach_looks *looks, uint64_t string, struct attach_text *text)
{
    text->length = 0;
    if (!attach_object_add_string(looks->vm, string, text)) text->length = 0;
}
