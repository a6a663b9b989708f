/* borrow.c - the GVL for a thread that is none of Ruby's, slice by slice.
 *
 * It is had in one of two ways:
 *
 *   nobody runs   Each Ruby thread gives up the GVL by setting its scheduler's running to NULL, and wants it
 *                 again by taking the scheduler's lock first. While running is NULL and we hold that lock, nobody
 *                 runs, and nobody begins to: that is the GVL. No thread is woken, and none notices.
 *   one runs      It lends its own: at its next look at interrupts it waits, with the GVL, for the end of a slice.
 *
 *     ours          ──wanted──▶ slice ▶ between ──wanted──▶ slice ▶
 *     a Ruby thread  ...  lend ( waits )   ...        lend ( waits )  ...
 *
 * Waking a sleeping thread, as a signal does, would do for the first. But MRI tells the program of that now and
 * then: sysread fails with EINTR, and who knows what an extension makes of it. With several Ractors, whose
 * barriers count threads that run, one has to lend; ask sees to it.
 *
 *   I1  what the work asks MRI for is asked by a thread and an execution context of our own, which are in no
 *       list. They have a machine stack and no frames, so a GC that is ended here marks that stack, and all
 *       threads as those that wait. Whoever lends has saved its stack's end.
 *   I2  that context always has an interrupt: what would give up the GVL by rb_nogvl, which fails then, is done
 *       with it. beside gives it up.
 *   I3  what asks for a postponed job meanwhile asks our context, which never looks: the main thread's is asked
 *       instead.
 *   I4  no object is held from one slice to the next.
 *   I5  a slice has the VM's lock, so with several Ractors no barrier is begun in it but its own. MRI saves the
 *       stack of who joins a barrier as that of the thread that runs, and that is the lender: so the lender joins.
 */
#include "ruby/ruby.h"
#include "vm/thread/borrow.h"
#include "ractor_core.h"
#include "vm_core.h"
#include "internal/thread.h"
#include "vm/thread/others.h"
#include "vm_sync.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

#define MS_NS 1000000L
#define BETWEEN_NS (MS_NS / 20)      /* who waits for the scheduler's lock gets it */
#define PATIENCE_NS (20 * MS_NS)     /* how long a thread that runs may take to lend, before both ways are tried again */
#define PATIENCE_MOST_NS (500 * MS_NS)
#define STACK_BYTES (256 * 1024)     /* of our machine stack, that MRI may count on */

enum loan { UNWANTED, WANTED, LENT };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;   /* loan, by the monotonic clock */
    enum loan loan;
    bool idle;                /* nobody runs, and the scheduler's lock is ours */
    void (*ask)(void);
    rb_thread_t thread;
    rb_execution_context_t ec;
    unsigned int level;       /* of the VM's lock */
} borrow;

void
rb_heapprof_borrow_init(void)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&borrow.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&borrow.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    borrow.loan = UNWANTED;
}

/* ---- a Ruby thread ---- */

void
rb_heapprof_lend(void)
{
    rb_thread_t *thread = GET_THREAD();

    pthread_mutex_lock(&borrow.lock);
    if (borrow.loan == WANTED) {
        RB_VM_SAVE_MACHINE_CONTEXT(thread);
        borrow.loan = LENT;
        pthread_cond_broadcast(&borrow.changed);
        while (borrow.loan == LENT) pthread_cond_wait(&borrow.changed, &borrow.lock);
    }
    pthread_mutex_unlock(&borrow.lock);
}

/* ---- ours: with the GVL, and without ---- */

static struct rb_thread_sched *
scheduler(void)
{
    return &GET_VM()->ractor.main_ractor->threads.sched;
}

static bool
begin_idle(void)
{
    struct rb_thread_sched *sched = scheduler();

    if (rb_multi_ractor_p()) return false;
    rb_native_mutex_lock(&sched->lock_);
    borrow.idle = sched->running == NULL;
    if (!borrow.idle) rb_native_mutex_unlock(&sched->lock_);
    return borrow.idle;
}

static struct timespec
after(long ns)
{
    struct timespec moment;

    clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_nsec += ns;
    moment.tv_sec += moment.tv_nsec / (1000 * MS_NS);
    moment.tv_nsec %= 1000 * MS_NS;
    return moment;
}

static void
want(void)
{
    pthread_mutex_lock(&borrow.lock);
    borrow.loan = WANTED;
    pthread_mutex_unlock(&borrow.lock);
}

static bool
wait_for_loan(long patience_ns)
{
    struct timespec until = after(patience_ns);
    int error = 0;

    pthread_mutex_lock(&borrow.lock);
    while (borrow.loan == WANTED && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&borrow.changed, &borrow.lock, &until);
    }
    bool lent = borrow.loan == LENT;
    if (!lent) borrow.loan = UNWANTED;
    pthread_mutex_unlock(&borrow.lock);
    return lent;
}

static void
obtain_loan(void)
{
    long patience = PATIENCE_NS;

    while (!begin_idle()) {
        want();
        borrow.ask();
        if (wait_for_loan(patience)) return;
        if (patience < PATIENCE_MOST_NS) patience *= 2;
    }
}

static void
return_loan(void)
{
    if (borrow.idle) {
        borrow.idle = false;
        rb_native_mutex_unlock(&scheduler()->lock_);
        return;
    }
    pthread_mutex_lock(&borrow.lock);
    borrow.loan = UNWANTED;
    pthread_cond_broadcast(&borrow.changed);
    pthread_mutex_unlock(&borrow.lock);
}

/* Without a context it is not us who are asked for what is asked of the thread that runs. */
static void
leave_vm(void)
{
    RB_VM_LOCK_LEAVE_LEV(&borrow.level);
    rb_current_ec_set(NULL);
}

/* False: a barrier waits for the lender. */
static bool
enter_vm(void)
{
    rb_vm_t *vm = GET_VM();

    borrow.thread.self = vm->ractor.main_thread->self;
    rb_current_ec_set(&borrow.ec);
    RB_VM_LOCK_ENTER_LEV_NB(&borrow.level);
    if (!rb_multi_ractor_p() || !vm->ractor.sched.barrier_waiting) return true;
    leave_vm();
    return false;
}

static void
begin_slice(void)
{
    for (;;) {
        obtain_loan();
        if (enter_vm()) return;
        return_loan();
    }
}

static void
end_slice(void)
{
    leave_vm();
    return_loan();
}

static void
beside(void *(*work)(void *data), void *data)
{
    end_slice();
    work(data);
    begin_slice();
}

static void *
pause_between(void *unused)
{
    const struct timespec moment = { .tv_nsec = BETWEEN_NS };

    nanosleep(&moment, NULL);
    return NULL;
}

static void
between(void)
{
    beside(pause_between, NULL);
}

/* ---- ours: the work ---- */

static void
begin_context(VALUE *stack_start)
{
    memset(&borrow.thread, 0, sizeof(borrow.thread));
    memset(&borrow.ec, 0, sizeof(borrow.ec));
    borrow.thread.vm = GET_VM();
    borrow.thread.ractor = GET_VM()->ractor.main_ractor;
    borrow.thread.ec = &borrow.ec;
    borrow.thread.status = THREAD_RUNNABLE;
    borrow.ec.thread_ptr = &borrow.thread;
    borrow.ec.errinfo = Qnil;
    borrow.ec.interrupt_flag = TIMER_INTERRUPT_MASK;
    borrow.ec.machine.stack_start = stack_start;
    borrow.ec.machine.stack_maxsize = STACK_BYTES;
}

static void
pass_on_jobs(void)
{
    if (borrow.ec.interrupt_flag & POSTPONED_JOB_INTERRUPT_MASK) {
        RUBY_VM_SET_POSTPONED_JOB_INTERRUPT(GET_VM()->ractor.main_thread->ec);
    }
}

NOINLINE(static void do_work(VALUE *stack_start, rb_heapprof_borrowing_work *work, void *data));

static void
do_work(VALUE *stack_start, rb_heapprof_borrowing_work *work, void *data)
{
    static const struct heapprof_others others = { .between = between, .beside = beside };

    begin_context(stack_start);
    begin_slice();
    work(&others, data);
    pass_on_jobs();
    end_slice();
}

void
rb_heapprof_borrow(rb_heapprof_borrowing_work *work, void *data, void (*ask)(void))
{
    VALUE stack_start = 0;

    borrow.ask = ask;
    do_work(&stack_start, work, data);
}
