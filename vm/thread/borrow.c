/* borrow.c - a thread that Ruby does not know borrows the GVL, as one borrows a pen: for one
 * line, then it goes back.
 *
 * The GVL comes in one of two ways:
 *
 *   no Ruby thread runs   A Ruby thread gives up the GVL by setting its scheduler's `running` to
 *                         NULL. To get it back it first takes the scheduler's lock. While
 *                         `running` is NULL and we hold that lock, no thread runs, and none can
 *                         begin: we have the GVL. No thread is woken, and none notices.
 *   one runs              It lends its own. At its next look at interrupts it waits, with the
 *                         GVL, for the end of a slice.
 *
 *     ours          ──wanted──▶ slice ▶ between ──wanted──▶ slice ▶
 *     a Ruby thread  ...  lend ( waits )   ...        lend ( waits )  ...
 *
 * Waking a sleeping thread, as a signal does, would be enough for the first case. But the program
 * may notice: sysread fails with EINTR, and an extension may do anything. With several Ractors a
 * thread has to lend in each case, because barriers count running threads; `ask` sees to that.
 *
 *   I1  the work runs on a thread structure and an execution context of our own, which are in no
 *       list of MRI. They have a machine stack and no frames. A GC that is finished in a slice
 *       marks that stack, and all Ruby threads as waiting ones. The lender has saved the end of
 *       its stack.
 *   I2  our context always has an interrupt pending. So rb_nogvl fails in it, and what would give
 *       up the GVL keeps it. Only `beside` gives it up.
 *   I3  a postponed job that is asked for in a slice goes to our context, which never looks. It
 *       is passed on to the main thread.
 *   I4  no object is held from one slice to the next.
 *   I5  a slice holds the VM lock, so no other ractor begins a barrier in it. MRI saves the stack
 *       of a thread that joins a barrier as that of the running thread, which is the lender; so
 *       the lender has to join, not we.
 */
#include "ruby/ruby.h"
#include "vm/thread/borrow.h"
#include "ractor_core.h"
#include "vm_core.h"
#include "internal/thread.h"
#include "os/clock.h"
#include "vm/thread/others.h"
#include "vm_sync.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

#define MS_NS 1000000L
#define BETWEEN_NS (MS_NS / 20)      /* a thread that waits for the scheduler's lock gets it */
/* How long a running thread may take to lend before both ways are tried again. */
#define PATIENCE_NS (20 * MS_NS)
#define PATIENCE_MOST_NS (500 * MS_NS)
#define STACK_BYTES (256 * 1024)     /* of our machine stack, as MRI is told */

enum loan { UNWANTED, WANTED, LENT };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;   /* of loan; waits by the monotonic clock */
    enum loan loan;
    bool idle;                /* no Ruby thread runs, and we hold the scheduler's lock */
    void (*ask)(void);
    rb_thread_t thread;
    rb_execution_context_t ec;
    unsigned int level;       /* of the VM's lock */
    int64_t waits_since_ns;   /* for the GVL, by the monotonic clock; 0: not now; atomic */
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
    borrow.waits_since_ns = 0;
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
obtain_loan_in_time(void)
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
obtain_loan(void)
{
    __atomic_store_n(&borrow.waits_since_ns, rb_heapprof_clock_ns(CLOCK_MONOTONIC),
                     __ATOMIC_RELAXED);
    obtain_loan_in_time();
    __atomic_store_n(&borrow.waits_since_ns, 0, __ATOMIC_RELAXED);
}

int64_t
rb_heapprof_borrow_waits_ns(void)
{
    int64_t since_ns = __atomic_load_n(&borrow.waits_since_ns, __ATOMIC_RELAXED);
    return since_ns ? rb_heapprof_clock_ns(CLOCK_MONOTONIC) - since_ns : 0;
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

/* Without a context of ours, MRI does not take us for the running thread. */
static void
leave_vm(void)
{
    RB_VM_LOCK_LEAVE_LEV(&borrow.level);
    rb_current_ec_set(NULL);
}

/* Returns false if a barrier waits for the lender. */
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

NOINLINE(static void do_alone(VALUE *stack_start, rb_heapprof_borrowing_work *work, void *data));

static void
do_alone(VALUE *stack_start, rb_heapprof_borrowing_work *work, void *data)
{
    begin_context(stack_start);
    borrow.thread.self = GET_VM()->ractor.main_thread->self;
    rb_current_ec_set(&borrow.ec);
    work(NULL, data);
}

void
rb_heapprof_borrow_alone(rb_heapprof_borrowing_work *work, void *data)
{
    VALUE stack_start = 0;

    do_alone(&stack_start, work, data);
}
