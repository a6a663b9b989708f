/* activity.c - what threads are doing: by the VM, and by the kernel's accounts. */
#include "attach/activity.h"

#include "attach/processor.h"

pid_t
attach_activity_tid(struct attach_looks *looks, const struct attach_thread *thread)
{
    if (!thread->tid) return 0;
    pid_t tid = attach_target_tid(looks->target, thread->tid);
    if (!tid && attach_target_threads(looks->target))
        tid = attach_target_tid(looks->target, thread->tid);
    return tid;
}

bool
attach_activity_collecting_p(struct attach_looks *looks)
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

void
attach_activity_begin(struct attach_looks *looks)
{
    bool all = looks->wanted == ATTACH_LOOK_CPU || looks->wanted == ATTACH_LOOK_OFF;

    looks->asked = true;
    attach_cpus_begin(&looks->cpus, all, looks->threads.count >= ATTACH_ACTIVITY_MANY);
    read_accounts_at_work(looks);
}

void
attach_activity_read(struct attach_looks *looks)
{
    const struct attach_threads *threads = &looks->threads;

    for (size_t i = 0; i < threads->count && !looks->asked; i++) {
        if (account_wanted_p(looks, &threads->all[i])) attach_activity_begin(looks);
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

void
attach_activity_ask(struct attach_looks *looks)
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

void
attach_activity_tell(struct attach_looks *looks, struct attach_look_stack *stack)
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

bool
attach_activity_turned_p(struct attach_looks *looks, struct attach_look_stack *stack)
{
    if (!stack->ran_ns) return false;
    struct attach_cpu *cpu = attach_cpus_find(&looks->cpus, stack->thread.tid);
    if (cpu->alarm >= 0 || !attach_cpus_turned_p(&looks->cpus, cpu)) return false;
    stack->ran_ns = 0;
    stack->wanted = false;
    return true;
}

void
attach_activity_settle(struct attach_looks *looks, const struct attach_look_stack *stack)
{
    if (stack->failed || (!stack->ran_ns && !stack->queued_ns)) return;
    struct attach_cpu *cpu = attach_cpus_find(&looks->cpus, stack->thread.tid);
    if (stack->ran_ns) attach_cpus_settle(&looks->cpus, cpu);
    if (stack->queued_ns) cpu->queued_new_ns = 0;
}
