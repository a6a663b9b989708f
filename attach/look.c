/* look.c - copies all stacks at one moment, and names their frames. */
#include "attach/look.h"

#include <stdlib.h>

#include "attach/activity.h"
#include "attach/jit.h"

enum {
    TRIES = 3, /* to give a stack its names while code is freed or moved */
    READ_ALL_EVERY = 64 /* looks */
};

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
        .patience_ns = ATTACH_LOOK_PATIENCE_NS,
        .number = ++names->looks, .target = target, .vm = vm, .names = names, .stop = stop,
        .mode = mode
    };
    rb_heapprof_mem_init(&looks->mem, BUDGET_BYTES);
    attach_cpus_init(&looks->cpus, target, &looks->mem);
    attach_walk_init(&looks->walk, vm, &looks->mem);
    attach_memos_init(&looks->memos, vm, &looks->mem);
    attach_codes_init(&looks->codes, vm, names, &looks->mem);
    attach_locals_init(&looks->locals, vm, names, &looks->mem);
    attach_label_sets_init(&looks->label_sets, vm, &looks->mem);
    return looks;
}

void
attach_look_close(struct attach_looks *looks)
{
    if (!looks) return;
    attach_stop_free(looks->stop);
    attach_native_free(&looks->native);
    attach_walk_free(&looks->walk);
    attach_memos_free(&looks->memos);
    attach_locals_free(&looks->locals);
    attach_label_sets_free(&looks->label_sets, &looks->mem);
    HEAPPROF_MEM_RELEASE(&looks->mem, looks->stacks, looks->stack_capacity);
    HEAPPROF_MEM_RELEASE(&looks->mem, looks->frames, looks->frame_capacity);
    attach_fibers_free(&looks->fibers, &looks->mem);
    attach_cpus_free(&looks->cpus);
    attach_threads_free(&looks->threads, &looks->mem);
    attach_codes_free(&looks->codes);
    attach_vm_close(looks->vm);
    free(looks);
}

bool
attach_look_native(struct attach_looks *looks, enum attach_native_which which)
{
    return attach_native_begin(&looks->native, looks->vm, looks->names, which);
}

/* ---- the names ---- */

static bool
add_frame(struct attach_looks *looks, uint32_t function, uint32_t line)
{
    if (!HEAPPROF_MEM_GROW(&looks->mem, looks->frames, looks->frame_capacity,
                           looks->frame_count + 1))
        return false;
    looks->frames[looks->frame_count++] =
        (struct attach_look_frame){ .function = function, .line = line };
    return true;
}

/* True if the thread may run at this moment. */
static bool
may_run_p(struct attach_looks *looks, const struct attach_thread *thread)
{
    return thread->state == ATTACH_THREAD_RUNNING ||
           (thread->state != ATTACH_THREAD_FIBER && attach_thread_running_p(looks->vm, thread));
}

/* The code of a frame, with the pc where the frame is. */
static struct attach_code_key
find_code(struct attach_looks *looks, const struct attach_thread *thread, size_t frame)
{
    struct attach_code_key code = attach_walk_code(&looks->walk, &looks->codes, frame);
    struct unwind_registers registers;

    if (!attach_walk_pc_old_p(&looks->walk, frame) || !may_run_p(looks, thread)) return code;
    bool still =
        attach_registers_read(looks->target, attach_activity_tid(looks, thread), &registers);
    code.pc = attach_jit_pc(&looks->codes, &code, thread->ec, still ? &registers : NULL);
    return code;
}

/* Whether the local variables of a frame are in its environment. */
static enum attach_locals_state
locals_state(const struct attach_looks *looks, const struct attach_look_stack *stack, size_t frame)
{
    if (!attach_walk_iseq(&looks->walk, frame)) return ATTACH_LOCALS_NONE;
    if (!stack->still) return ATTACH_LOCALS_MOVING;
    bool runs = stack->thread.state == ATTACH_THREAD_RUNNING;
    return runs && attach_walk_pc_old_p(&looks->walk, frame) ? ATTACH_LOCALS_COMPILED
                                                             : ATTACH_LOCALS_KNOWN;
}

/* Reads the variables of a frame for the frame that was added last: of a clause that stands for the
 * frame directly below it, the variables of that frame are read behind the clause's own. */
static bool
add_locals(struct attach_looks *looks, const struct attach_look_stack *stack, size_t frame)
{
    return !looks->locals.wanted ||
           attach_locals_read(&looks->locals, &looks->walk, frame,
                              locals_state(looks, stack, frame),
                              &looks->frames[looks->frame_count - 1].locals);
}

/* Adds the frames that a backtrace shows. A rescue or ensure clause stands for the frame directly
 * below it. A frame that names a file being read, and a block of C, have no code. */
static bool
add_frames(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    struct attach_walk *walk = &looks->walk;
    bool skip = false;

    for (size_t i = 0; i < walk->frame_count; i++) {
        struct attach_code_key code = find_code(looks, &stack->thread, i);
        if (code.iseq && !code.pc) continue;
        const struct attach_code_known *known = attach_code_find(&looks->codes, &code);
        if (!known) return false;
        bool skipped = skip && code.iseq;
        if (code.iseq) skip = known->stands_for_outer;
        if (!skipped && (!add_frame(looks, known->function, known->line) ||
                         !attach_native_note(&looks->native, i)))
            return false;
        if (!add_locals(looks, stack, i)) return false;
    }
    return true;
}

static void
label_stack(struct attach_looks *looks, struct attach_look_stack *stack,
            const struct attach_walk_place *place)
{
    stack->label_set = attach_label_sets_of(&looks->label_sets, place->label, place->late);
}

static bool
add_torn(struct attach_looks *looks)
{
    uint32_t function = attach_names_mark(looks->names, "(torn)");
    return function && add_frame(looks, function, 0);
}

/* True unless the names just read may be those of other code. Code may be freed or moved meanwhile
 * if the thread does not stand still, or has no GVL. And between two instructions of a compaction a
 * slot is empty: its object has gone, and it does not say yet where to. */
static bool
names_sure_p(struct attach_looks *looks, uint64_t unreadable_before)
{
    struct attach_codes *codes = &looks->codes;

    if (!looks->target->runs) return true;
    return attach_codes_current_p(codes) &&
           (codes->unreadable == unreadable_before || !attach_codes_moving_p(codes));
}

/* Returns false without memory. */
static bool
name_stack(struct attach_looks *looks, struct attach_look_stack *stack)
{
    attach_native_next_stack(&looks->native);
    stack->torn = !stack->failed && looks->walk.torn > 0;
    if (stack->failed) return true;
    label_stack(looks, stack, &looks->walk.place);
    if (stack->torn && !add_torn(looks)) return false;
    uint64_t unreadable = looks->codes.unreadable;
    if (!add_frames(looks, stack)) return false;
    stack->count = looks->frame_count - stack->first;
    stack->unsure = !names_sure_p(looks, unreadable);
    return true;
}

/* Forgets what was read of the stack. */
static void
forget_stack(struct attach_looks *looks, struct attach_look_stack *stack)
{
    looks->frame_count = stack->first;
    stack->count = 0;
    stack->label_set = 0;
    stack->torn = stack->failed = stack->still = false;
}

static void
forget_names(struct attach_looks *looks)
{
    attach_codes_forget(&looks->codes);
    attach_memos_forget(&looks->memos);
}

/* If the stack is read again because its names were unsure, these are read at the present state of
 * the target's code. */
static bool
copy_stack(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    if (stack->unsure) forget_names(looks);
    return attach_walk_copy(&looks->walk, stack->thread.ec);
}

/* Puts the C functions of the thread's machine stack among its Ruby frames. */
static bool
add_native(struct attach_looks *looks, struct attach_look_stack *stack)
{
    struct attach_native *native = &looks->native;

    if (!attach_native_merge(native, &looks->walk, &looks->frames[stack->first], stack->count))
        return false;
    looks->frame_count = stack->first;
    for (size_t i = 0; i < native->merged_count; i++) {
        if (!add_frame(looks, native->merged[i].function, native->merged[i].line)) return false;
        looks->frames[looks->frame_count - 1] = native->merged[i];
    }
    stack->count = native->merged_count;
    stack->collection_shown = native->frames.collecting;
    return true;
}

/* The rest, for which the target is not read. */
static bool
finish_stack(struct attach_looks *looks, struct attach_look_stack *stack)
{
    if (stack->failed) return true;
    if (looks->native.copied && !add_native(looks, stack)) return false;
    if (!stack->count) return true;
    return attach_native_place(looks->names, &looks->frames[stack->first], stack->count);
}

/* ---- one stack; each is false when there is no memory ---- */

static bool
native_wanted_p(const struct attach_looks *looks, const struct attach_look_stack *stack)
{
    return looks->native.on && stack->thread.state != ATTACH_THREAD_FIBER &&
           !(stack->idle && looks->native_busy_only);
}

/* The thread stands still. Its machine stack is read, too, if C functions are wanted. */
static bool
read_still(struct attach_looks *looks, struct attach_look_stack *stack, pid_t tid)
{
    stack->failed = !copy_stack(looks, stack);
    stack->still = true;
    if (!name_stack(looks, stack)) return false;
    if (native_wanted_p(looks, stack))
        attach_native_copy(&looks->native, tid, stack->thread.ec);
    return true;
}

static bool
read_as_it_is(struct attach_looks *looks, struct attach_look_stack *stack)
{
    pid_t tid = looks->native.on ? attach_activity_tid(looks, &stack->thread) : 0;
    return read_still(looks, stack, tid) && finish_stack(looks, stack);
}

static bool
read_unstopped(struct attach_looks *looks, struct attach_look_stack *stack)
{
    stack->failed = !copy_stack(looks, stack);
    if (!stack->failed) attach_walk_cut_torn(&looks->walk);
    return name_stack(looks, stack) && finish_stack(looks, stack);
}

/* True if only a stop shows at which line the thread is: it is in machine code of a JIT. */
static bool
registers_wanted_p(const struct attach_looks *looks)
{
    for (size_t i = 0; i < looks->walk.frame_count; i++) {
        if (attach_walk_pc_old_p(&looks->walk, i)) return true;
    }
    return false;
}

/* Reads the stack of a thread that waits for a processor: it stands still as long as it has not got
 * one. To stop it would take its turn from it, and the reader would wait for that. If it does not
 * wait, or goes on before its frames have names, *queued is false and nothing has been read. */
static bool
read_queued(struct attach_looks *looks, struct attach_look_stack *stack, bool *queued)
{
    *queued = false;
    if (looks->native.on || looks->locals.wanted) return true;
    if (!looks->asked) attach_activity_begin(looks);
    struct attach_cpu *cpu = attach_cpus_read(&looks->cpus, stack->thread.tid);
    if (!cpu || (looks->wanted == ATTACH_LOOK_CPU && cpu->alarm < 0)) return true;
    attach_cpus_ask(&looks->cpus, cpu);
    if (!cpu->queued || !copy_stack(looks, stack) ||
        registers_wanted_p(looks))
        return true;
    stack->still = true;
    if (!name_stack(looks, stack)) return false;
    *queued = !attach_cpus_turned_p(&looks->cpus, cpu);
    if (*queued) return finish_stack(looks, stack);
    forget_stack(looks, stack);
    return true;
}

static bool
read_stopped(struct attach_looks *looks, struct attach_look_stack *stack)
{
    pid_t tid = attach_activity_tid(looks, &stack->thread);
    bool queued = false;

    if (tid && !read_queued(looks, stack, &queued)) return false;
    if (queued) return true;
    if (!tid || attach_stop_thread(looks->stop, tid, looks->patience_ns) != ATTACH_STOPPED) {
        looks->counts.not_stopped++;
        looks->patience_ns = ATTACH_LOOK_PATIENCE_NS;
        return read_unstopped(looks, stack);
    }
    looks->counts.stopped++;
    bool room = attach_activity_turned_p(looks, stack) || read_still(looks, stack, tid);
    attach_stop_resume(looks->stop);
    return room && finish_stack(looks, stack);
}

/* Reads the stack of a thread that waits, if it still waits when its frames have names, and these
 * are the same. Otherwise *waits is false and nothing has been read. */
static bool
read_waiting(struct attach_looks *looks, struct attach_look_stack *stack, bool *waits)
{
    bool fiber = stack->thread.state == ATTACH_THREAD_FIBER;

    *waits = stack->thread.state != ATTACH_THREAD_RUNNING &&
             copy_stack(looks, stack);
    if (!*waits) return true;
    stack->still = true;
    if (!name_stack(looks, stack)) return false;
    *waits = attach_walk_same_p(&looks->walk) &&
             (fiber || !attach_thread_running_p(looks->vm, &stack->thread));
    if (*waits) return finish_stack(looks, stack);
    forget_stack(looks, stack);
    return true;
}

/* The stack of a thread, if it waits as it did at the last look. A stack that is read again because
 * its names were unsure is not taken from there. */
static const struct attach_memo_entry *
find_remembered(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    if (stack->thread.state == ATTACH_THREAD_RUNNING || stack->unsure) return NULL;
    attach_target_ahead_resume(looks->target);
    const struct attach_memo_entry *entry =
        attach_memos_find(&looks->memos, looks->place, stack->thread.ec);
    attach_target_ahead_pause(looks->target);
    return entry;
}

static bool
add_remembered(struct attach_looks *looks, struct attach_look_stack *stack,
               const struct attach_memo_entry *entry)
{
    stack->count = entry->count;
    label_stack(looks, stack, &entry->place);
    for (size_t i = 0; i < entry->count; i++) {
        const struct attach_look_frame *frame = &looks->memos.now.frames[entry->first + i];
        if (!add_frame(looks, frame->function, frame->line)) return false;
        looks->frames[looks->frame_count - 1].native = frame->native;
    }
    return true;
}

static void
remember(struct attach_looks *looks, const struct attach_look_stack *stack, uint64_t call)
{
    if (stack->unsure) return;
    attach_memos_add(&looks->memos, looks->place, &looks->walk, &looks->frames[stack->first],
                     stack->count, call);
}

/* A stack that stays the same is kept for the next look. */
static bool
read_plain(struct attach_looks *looks, struct attach_look_stack *stack)
{
    const struct attach_memo_entry *entry = find_remembered(looks, stack);
    bool waits;

    if (entry) return add_remembered(looks, stack, entry);
    if (!read_waiting(looks, stack, &waits)) return false;
    if (!waits) return read_stopped(looks, stack);
    remember(looks, stack, 0);
    return true;
}

/* The same with C functions, for which the thread has to be stopped: they are kept as long as it
 * waits in the same system call. */
static bool
read_native(struct attach_looks *looks, struct attach_look_stack *stack)
{
    bool waits = stack->thread.state != ATTACH_THREAD_RUNNING;
    pid_t tid = attach_activity_tid(looks, &stack->thread);
    uint64_t call = waits ? attach_cpu_call(looks->target, tid) : 0;
    const struct attach_memo_entry *entry = find_remembered(looks, stack);

    if (entry && call && entry->call == call) return add_remembered(looks, stack, entry);
    if (!read_stopped(looks, stack)) return false;
    if (waits && looks->native.copied) remember(looks, stack, call);
    return true;
}

/* A thread that waits may go on while its variables are read. A fiber, or a thread without a native
 * one, cannot be stopped. */
static bool
read_with_locals(struct attach_looks *looks, struct attach_look_stack *stack)
{
    bool waits = false;

    if (attach_activity_tid(looks, &stack->thread)) return read_stopped(looks, stack);
    if (!read_waiting(looks, stack, &waits)) return false;
    return waits || read_unstopped(looks, stack);
}

static bool
read_wanted(struct attach_looks *looks, struct attach_look_stack *stack, bool still)
{
    if (still) return read_as_it_is(looks, stack);
    if (looks->mode != ATTACH_LOOK_AUTO) return read_unstopped(looks, stack);
    if (looks->locals.wanted) return read_with_locals(looks, stack);
    if (native_wanted_p(looks, stack)) return read_native(looks, stack);
    return read_plain(looks, stack);
}

/* Stops all threads. Returns false if one does not stand still: then none does. */
static bool
stop_all(struct attach_looks *looks)
{
    if (attach_stop_all(looks->stop, looks->target, looks->patience_ns) == ATTACH_STOPPED) {
        looks->counts.stopped += looks->target->thread_count;
        return true;
    }
    looks->counts.not_stopped++;
    looks->patience_ns = ATTACH_LOOK_PATIENCE_NS;
    return false;
}

/* For a target that frees or moves code all the time. It does not while all its threads stand
 * still. */
static bool
read_at_standstill(struct attach_looks *looks, struct attach_look_stack *stack)
{
    if (looks->mode == ATTACH_LOOK_NEVER || !stop_all(looks)) return true;
    bool room = attach_activity_turned_p(looks, stack) || read_as_it_is(looks, stack);
    attach_stop_resume(looks->stop);
    return room;
}

/* If names are not sure, the stack is read again. If all threads are stopped already, that would
 * not help. */
static bool
read_surely(struct attach_looks *looks, struct attach_look_stack *stack, bool still)
{
    for (int tries = still ? 1 : TRIES; tries > 0; tries--) {
        if (!read_wanted(looks, stack, still)) return false;
        if (!stack->unsure || !stack->wanted) return true;
        forget_stack(looks, stack);
    }
    if (!still) {
        if (!read_at_standstill(looks, stack)) return false;
        if (!stack->unsure || !stack->wanted) return true;
        forget_stack(looks, stack);
    }
    forget_names(looks);
    stack->failed = true;
    return true;
}

static bool
read_stack(struct attach_looks *looks, struct attach_look_stack *stack, bool still)
{
    if (!stack->thread.ec) return true; /* it has ended */
    attach_activity_tell(looks, stack);
    if (!stack->wanted) return true;
    if (still && attach_activity_turned_p(looks, stack)) return true;
    stack->collecting = stack->thread.state == ATTACH_THREAD_RUNNING && looks->collecting;
    return read_surely(looks, stack, still);
}

/* ---- all of them ---- */

/* Stops all threads if the mode says so. Returns true if nothing can change. */
static bool
hold_all(struct attach_looks *looks)
{
    if (!looks->target->runs) return true;
    return looks->mode == ATTACH_LOOK_ALWAYS && stop_all(looks);
}

static bool
read_next(struct attach_looks *looks, struct attach_thread *thread, bool still)
{
    if (!HEAPPROF_MEM_GROW(&looks->mem, looks->stacks, looks->stack_capacity,
                           looks->stack_count + 1))
        return false;
    struct attach_look_stack *stack = &looks->stacks[looks->stack_count];
    *stack = (struct attach_look_stack){.thread = *thread, .first = looks->frame_count};
    if (!read_stack(looks, stack, still)) return false;
    thread->idle = stack->idle;
    attach_activity_settle(looks, stack);
    looks->stack_count++;
    looks->counts.stacks += stack->wanted;
    looks->counts.torn += stack->torn;
    looks->counts.failed += stack->failed;
    return true;
}

/* To read the list of threads costs as much as all the rest, if they are many and idle. If no
 * thread has run since the last look except those that were at work, only these are read again. Now
 * and then all are: a name may be given to a thread that sleeps. */
static bool
threads_quiet_p(struct attach_looks *looks)
{
    if (!looks->target->runs || looks->threads.count < ATTACH_ACTIVITY_MANY ||
        looks->counts.looks % READ_ALL_EVERY == 0)
        return false;
    attach_activity_begin(looks);
    if (attach_cpus_rest_ran_p(&looks->cpus)) return false;
    attach_target_ahead_begin(looks->target, ATTACH_AHEAD_QUIET);
    bool quiet = attach_threads_refresh(&looks->threads, looks->vm);
    attach_target_ahead_pause(looks->target);
    return quiet;
}

static bool
read_threads(struct attach_looks *looks)
{
    attach_target_ahead_begin(looks->target, ATTACH_AHEAD_FULL);
    bool read = attach_threads_read(&looks->threads, looks->vm, &looks->mem);
    attach_target_ahead_pause(looks->target);
    return read;
}

/* Reads what all stacks have in common. What was foreseen is of the time when the list of threads
 * was read. If that is a while ago, it is read anew. */
static void
begin(struct attach_looks *looks, bool ahead)
{
    if (ahead) attach_target_ahead_resume(looks->target);
    attach_native_next_look(&looks->native);
    attach_memos_begin(&looks->memos, attach_codes_refresh(&looks->codes));
    looks->collecting = attach_activity_collecting_p(looks);
    attach_target_ahead_pause(looks->target);
}

/* Threads that are idle are left out if nobody wants them: there may be very many. */
static bool
read_all_threads(struct attach_looks *looks, bool still)
{
    struct attach_threads *threads = &looks->threads;
    bool all = looks->wanted == ATTACH_LOOK_ALL || looks->wanted == ATTACH_LOOK_OFF;
    size_t count = all ? threads->count : threads->awake_count;

    for (size_t i = 0; i < count; i++) {
        looks->place = all ? i : threads->awake[i];
        if (!read_next(looks, &threads->all[looks->place], still)) return false;
    }
    attach_threads_let_sleep(threads);
    return true;
}

static bool
read_all(struct attach_looks *looks, bool still)
{
    bool again = still && looks->target->runs; /* all threads have been stopped meanwhile */

    looks->stack_count = looks->frame_count = 0;
    attach_locals_clear(&looks->locals);
    if (again) {
        looks->quiet = false;
        if (!read_threads(looks)) return false;
    }
    begin(looks, again || looks->quiet || !looks->asked);
    if (!read_all_threads(looks, still)) return false;
    if (!looks->with_fibers) return true;
    if (!attach_fibers_read(&looks->fibers, looks->vm, &looks->threads, &looks->mem)) return false;
    for (size_t i = 0; i < looks->fibers.count; i++) {
        looks->place = looks->threads.count + i;
        if (!read_next(looks, &looks->fibers.all[i], still)) return false;
    }
    return true;
}

static bool
look(struct attach_looks *looks)
{
    looks->asked = false;
    looks->quiet = threads_quiet_p(looks);
    if (!looks->quiet) {
        if (!read_threads(looks)) return false;
        attach_activity_read(looks);
    }
    attach_activity_ask(looks);
    bool still = hold_all(looks), read = read_all(looks, still);
    if (still && looks->stop) attach_stop_resume(looks->stop);
    return read;
}

bool
attach_look(struct attach_looks *looks)
{
    bool read = look(looks);

    looks->counts.looks += read;
    return read && attach_target_state(looks->target) == ATTACH_TARGET_SAME;
}

int64_t
attach_look_age_ns(struct attach_looks *looks, const struct attach_thread *thread)
{
    return attach_cpu_age_ns(looks->target, attach_activity_tid(looks, thread));
}

void
attach_look_name(struct attach_looks *looks, uint64_t string, struct attach_text *text)
{
    text->length = 0;
    if (!attach_object_add_string(looks->vm, string, text)) text->length = 0;
}
