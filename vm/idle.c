/* idle.c - work while all threads of Ruby wait, and none is to notice.
 *
 * A thread that waits could be woken, as for a signal. But MRI tells the program of that now and then: sysread
 * fails with EINTR, and who knows what an extension makes of it. So no thread is woken. Each gives up the GVL
 * by setting its scheduler's running to NULL, and wants it again by taking the scheduler's lock first. While
 * running is NULL and we hold that lock, nobody runs, and nobody begins to: that is the GVL.
 *
 *     sched->lock_   ┌──────── ours ────────┐   ┌─ ours ─┐
 *     work           slice                  between       slice ...
 *     Ruby threads   (asleep; who wakes waits here ▲, and if it runs by now the work is given up)
 *
 *   I1  what the work asks MRI for is asked by a thread and an execution context of our own, which are in no
 *       list. They have a machine stack and no frames, so a GC that is ended here marks that stack, and all
 *       threads as those that wait.
 *   I2  that context always has an interrupt: what would give up the GVL (rb_nogvl, which fails then) is
 *       done with it.
 *   I3  what asks for a postponed job meanwhile asks our context, which never looks: the main thread's is asked
 *       instead.
 */
#include "ruby/ruby.h"
#include "idle.h"
#include "vm_core.h"
#include "ractor_core.h"
#include "vm_sync.h"
#include <setjmp.h>
#include <time.h>

#define BETWEEN_NS 50000 /* who waits for the lock gets it */

static struct {
    rb_thread_t thread;
    rb_execution_context_t ec;
    jmp_buf given_up;
} ours;

static struct rb_thread_sched *
scheduler(void)
{
    return &GET_VM()->ractor.main_ractor->threads.sched;
}

/* True with the lock. */
static bool
try_lock(void)
{
    struct rb_thread_sched *sched = scheduler();

    rb_native_mutex_lock(&sched->lock_);
    if (sched->running == NULL) return true;
    rb_native_mutex_unlock(&sched->lock_);
    return false;
}

static void
unlock(void)
{
    rb_native_mutex_unlock(&scheduler()->lock_);
}

static void
between(void)
{
    const struct timespec moment = { .tv_nsec = BETWEEN_NS };

    unlock();
    nanosleep(&moment, NULL);
    if (!try_lock()) longjmp(ours.given_up, 1);
}

static void
enter(VALUE *stack_start)
{
    rb_thread_t *main_thread = GET_VM()->ractor.main_thread;

    memset(&ours.thread, 0, sizeof(ours.thread));
    memset(&ours.ec, 0, sizeof(ours.ec));
    ours.thread.vm = GET_VM();
    ours.thread.ractor = main_thread->ractor;
    ours.thread.self = main_thread->self;
    ours.thread.ec = &ours.ec;
    ours.thread.status = THREAD_RUNNABLE;
    ours.ec.thread_ptr = &ours.thread;
    ours.ec.errinfo = Qnil;
    ours.ec.interrupt_flag = TIMER_INTERRUPT_MASK;
    ours.ec.machine.stack_start = stack_start;
    ours.ec.machine.stack_maxsize = 256 * 1024;
    rb_current_ec_set(&ours.ec);
}

static void
leave(void)
{
    rb_current_ec_set(NULL);
    if (ours.ec.interrupt_flag & POSTPONED_JOB_INTERRUPT_MASK) {
        RUBY_VM_SET_POSTPONED_JOB_INTERRUPT(GET_VM()->ractor.main_thread->ec);
    }
}

NOINLINE(static bool complete(VALUE *stack_start, rb_heapprof_idle_work *work, void *data));

static bool
complete(VALUE *stack_start, rb_heapprof_idle_work *work, void *data)
{
    bool gives_up;

    enter(stack_start);
    gives_up = setjmp(ours.given_up) != 0;
    if (!gives_up) {
        work(between, data);
        unlock();
    }
    leave();
    return !gives_up;
}

bool
rb_heapprof_idle_do(rb_heapprof_idle_work *work, void *data)
{
    VALUE stack_start = 0;

    if (rb_multi_ractor_p() || !try_lock()) return false;
    return complete(&stack_start, work, data);
}
