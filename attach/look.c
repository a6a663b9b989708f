/* look.c - copies all stacks at one moment, and names their frames. */
#include "attach/look.h"

#include <stdlib.h>

#include "attach/jit.h"
#include "attach/processor.h"

enum {
    MANY_THREADS = 32,
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

/* True if the thread's account says what the mode wants to know. */
static bool
account_wanted_p(const struct attach_looks *looks, const struct attach_thread *thread)
{
    if (!looks->target->runs || !thread->tid || looks->wanted == ATTACH_LOOK_GVL) return false;
    return looks->wanted == ATTACH_LOOK_CPU || looks->wanted == ATTACH_LOOK_OFF ||
           thread->state == ATTACH_THREAD_BLOCKED;
}

static void
read_accounts_at_work(struct attach_looks *looks)
{
    for (size_t i = 0; i < looks->threads.awake_count; i++) {
        const struct attach_thread *thread = &looks->threads.all[looks->threads.awake[i]];
        if (thread->tid && attach_thread_at_work_p(thread))
            attach_cpus_read(&looks->cpus, thread->tid);
    }
}

/* Begins to read the kernel's accounts of the threads. */
static void
begin_accounts(struct attach_looks *looks)
{
    bool all = looks->wanted == ATTACH_LOOK_CPU || looks->wanted == ATTACH_LOOK_OFF;

    looks->asked = true;
    attach_cpus_begin(&looks->cpus, all, looks->threads.count >= MANY_THREADS);
    read_accounts_at_work(looks);
}

/* Reads the accounts that are wanted. Must be done before threads are stopped: a stop is a state of
 * its own, and to come to it a thread has to run. */
static void
read_accounts(struct attach_looks *looks)
{
    const struct attach_threads *threads = &looks->threads;

    for (size_t i = 0; i < threads->count && !looks->asked; i++) {
        if (account_wanted_p(looks, &threads->all[i])) begin_accounts(looks);
    }
    if (!looks->asked) return;
    read_accounts_at_work(looks);
    for (size_t i = 0; i < threads->count; i++) {
        const struct attach_thread *thread = &threads->all[i];
        if (account_wanted_p(looks, thread) && !attach_cpus_find(&looks->cpus, thread->tid))
            attach_cpus_read(&looks->cpus, thread->tid);
    }
    attach_cpus_read_rest(&looks->cpus);
}

/* Which threads wait for a processor, in mode cpu. The reader may have taken it from them, so it
 * goes to another one for the next look. */
static void
ask_processors(struct attach_looks *looks)
{
    bool queued = false;

    if (looks->wanted != ATTACH_LOOK_CPU || !looks->target->runs) return;
    for (size_t i = 0; i < looks->threads.count; i++) {
        const struct attach_thread *thread = &looks->threads.all[i];
        bool runs = thread->state == ATTACH_THREAD_RUNNING;
        if (!thread->tid || !(runs || thread->state == ATTACH_THREAD_BLOCKED)) continue;
        struct attach_cpu *cpu = attach_cpus_find(&looks->cpus, thread->tid);
        if (!cpu || cpu->alarm >= 0 || !(runs || cpu->ran_new_ns)) continue;
        attach_cpus_ask(&looks->cpus, cpu);
        queued |= cpu->queued;
    }
    if (queued) attach_processor_leave();
}

/* The state of a BLOCKED thread as the kernel has it; 0: unknown. */
static char
kernel_state(struct attach_looks *looks, struct attach_cpu *cpu)
{
    return cpu ? attach_cpus_state(&looks->cpus, cpu) : 0;
}

/* What the thread is doing, and whether its stack is wanted. */
static void
tell_state(struct attach_looks *looks, struct attach_look_stack *stack)
{
    const struct attach_thread *thread = &stack->thread;
    struct attach_cpu *cpu =
        account_wanted_p(looks, thread) ? attach_cpus_find(&looks->cpus, thread->tid) : NULL;
    bool computes = thread->state == ATTACH_THREAD_RUNNING;

    switch (thread->state) {
      case ATTACH_THREAD_RUNNING: break;
      case ATTACH_THREAD_READY: stack->waits = ATTACH_WAITS_GVL; break;
      case ATTACH_THREAD_LOCKING: stack->waits = ATTACH_WAITS_LOCK; break;
      case ATTACH_THREAD_BLOCKED: {
        char state = kernel_state(looks, cpu);
        computes = state == 'R';
        stack->idle = state != 'R' && state != 'D';
        stack->waits = computes ? ATTACH_WAITS_NOT : ATTACH_WAITS_IO;
        break;
      }
      case ATTACH_THREAD_SLEEPING:
        stack->waits = ATTACH_WAITS_SLEEP;
        stack->idle = true;
        break;
      case ATTACH_THREAD_ENDED: case ATTACH_THREAD_FIBER: stack->idle = true; break;
    }
    switch (looks->wanted) {
      case ATTACH_LOOK_ALL: stack->wanted = true; break;
      case ATTACH_LOOK_BUSY: stack->wanted = !stack->idle; break;
      case ATTACH_LOOK_GVL: stack->wanted = thread->state == ATTACH_THREAD_RUNNING; break;
      case ATTACH_LOOK_CPU:
        if (cpu && attach_cpus_counts_p(&looks->cpus, cpu, computes))
            stack->ran_ns = cpu->ran_new_ns;
        stack->wanted = stack->ran_ns > 0;
        break;
      case ATTACH_LOOK_OFF:
        stack->queued_ns = cpu ? cpu->queued_new_ns : 0;
        stack->wanted = stack->waits != ATTACH_WAITS_NOT || stack->queued_ns > 0;
        break;
    }
}

/* What has been counted is not counted again. */
static void
settle_account(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    if (stack->failed || (!stack->ran_ns && !stack->queued_ns)) return;
    struct attach_cpu *cpu = attach_cpus_find(&looks->cpus, stack->thread.tid);
    if (stack->ran_ns) attach_cpus_settle(&looks->cpus, cpu);
    if (stack->queued_ns) cpu->queued_new_ns = 0;
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
    bool still = attach_registers_read(looks->target, tid_of(looks, thread), &registers);
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

/* Returns false without memory. */
static bool
name_stack(struct attach_looks *looks, struct attach_look_stack *stack)
{
    attach_native_next_stack(&looks->native);
    stack->torn = !stack->failed && looks->walk.torn > 0;
    if (stack->failed) return true;
    label_stack(looks, stack, &looks->walk.place);
    if (stack->torn && !add_torn(looks)) return false;
    if (!add_frames(looks, stack)) return false;
    stack->count = looks->frame_count - stack->first;
    return true;
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
    stack->failed = !attach_walk_copy(&looks->walk, stack->thread.ec);
    stack->still = true;
    if (!name_stack(looks, stack)) return false;
    if (native_wanted_p(looks, stack))
        attach_native_copy(&looks->native, tid, stack->thread.ec);
    return true;
}

static bool
read_as_it_is(struct attach_looks *looks, struct attach_look_stack *stack)
{
    pid_t tid = looks->native.on ? tid_of(looks, &stack->thread) : 0;
    return read_still(looks, stack, tid) && finish_stack(looks, stack);
}

static bool
read_unstopped(struct attach_looks *looks, struct attach_look_stack *stack)
{
    stack->failed = !attach_walk_copy(&looks->walk, stack->thread.ec);
    if (!stack->failed) attach_walk_cut_torn(&looks->walk);
    return name_stack(looks, stack) && finish_stack(looks, stack);
}

/* True if the thread had to wait for a processor before it stood still. Then it is not counted, for
 * where it lost its processor is no random place (attach/processor.h). */
static bool
turned_p(struct attach_looks *looks, struct attach_look_stack *stack)
{
    if (!stack->ran_ns) return false;
    struct attach_cpu *cpu = attach_cpus_find(&looks->cpus, stack->thread.tid);
    if (cpu->alarm >= 0 || !attach_cpus_turned_p(&looks->cpus, cpu)) return false;
    stack->ran_ns = 0;
    stack->wanted = false;
    return true;
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

/* Copies the frames of a thread that waits for a processor. It stands still as long as it has not
 * got one. To stop it would take its turn from it, and the reader would wait for that. */
static bool
copy_queued(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    if (looks->native.on || looks->locals.wanted) return false;
    if (!looks->asked) begin_accounts(looks);
    struct attach_cpu *cpu = attach_cpus_read(&looks->cpus, stack->thread.tid);
    if (!cpu || (looks->wanted == ATTACH_LOOK_CPU && cpu->alarm < 0)) return false;
    attach_cpus_ask(&looks->cpus, cpu);
    return cpu->queued && attach_walk_copy(&looks->walk, stack->thread.ec) &&
           !registers_wanted_p(looks) && !attach_cpus_turned_p(&looks->cpus, cpu);
}

static bool
read_stopped(struct attach_looks *looks, struct attach_look_stack *stack)
{
    pid_t tid = tid_of(looks, &stack->thread);

    if (tid && copy_queued(looks, stack)) {
        stack->still = true;
        return name_stack(looks, stack) && finish_stack(looks, stack);
    }
    if (!tid || attach_stop_thread(looks->stop, tid, looks->patience_ns) != ATTACH_STOPPED) {
        looks->counts.not_stopped++;
        looks->patience_ns = ATTACH_LOOK_PATIENCE_NS;
        return read_unstopped(looks, stack);
    }
    looks->counts.stopped++;
    bool room = turned_p(looks, stack) || read_still(looks, stack, tid);
    attach_stop_resume(looks->stop);
    return room && finish_stack(looks, stack);
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
    attach_memos_add(&looks->memos, looks->place, &looks->walk, &looks->frames[stack->first],
                     stack->count, call);
}

static bool
read_waiting(struct attach_looks *looks, struct attach_look_stack *stack)
{
    if (!name_stack(looks, stack) || !finish_stack(looks, stack)) return false;
    remember(looks, stack, 0);
    return true;
}

/* The same with C functions, for which the thread has to be stopped: they are kept as long as it
 * waits in the same system call. */
static bool
read_native(struct attach_looks *looks, struct attach_look_stack *stack)
{
    bool waits = stack->thread.state != ATTACH_THREAD_RUNNING;
    uint64_t call = waits ? attach_cpu_call(looks->target, tid_of(looks, &stack->thread)) : 0;
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
    if (tid_of(looks, &stack->thread)) return read_stopped(looks, stack);
    return waits_p(looks, stack) ? read_as_it_is(looks, stack) : read_unstopped(looks, stack);
}

static bool
read_stack(struct attach_looks *looks, struct attach_look_stack *stack, bool still)
{
    if (!stack->thread.ec) return true; /* it has ended */
    tell_state(looks, stack);
    if (!stack->wanted) return true;
    if (still && turned_p(looks, stack)) return true;
    stack->collecting = stack->thread.state == ATTACH_THREAD_RUNNING && looks->collecting;
    if (still) return read_as_it_is(looks, stack);
    if (looks->mode != ATTACH_LOOK_AUTO) return read_unstopped(looks, stack);
    if (looks->locals.wanted) return read_with_locals(looks, stack);
    if (native_wanted_p(looks, stack)) return read_native(looks, stack);
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
    if (attach_stop_all(looks->stop, looks->target, looks->patience_ns) == ATTACH_STOPPED) {
        looks->counts.stopped += looks->target->thread_count;
        return true;
    }
    looks->counts.not_stopped++;
    return false;
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
    settle_account(looks, stack);
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
    if (!looks->target->runs || looks->threads.count < MANY_THREADS ||
        looks->counts.looks % READ_ALL_EVERY == 0)
        return false;
    begin_accounts(looks);
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
    looks->collecting = collecting_p(looks);
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
        read_accounts(looks);
    }
    ask_processors(looks);
    bool still = stop_all(looks), read = read_all(looks, still);
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
    return attach_cpu_age_ns(looks->target, tid_of(looks, thread));
}

void
attach_look_name(struct attach_looks *looks, uint64_t string, struct attach_text *text)
{
    text->length = 0;
    if (!attach_object_add_string(looks->vm, string, text)) text->length = 0;
}
