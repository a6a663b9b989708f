/* own_thread.c - a background thread, invisible to Ruby, for work that is due at a time or asked
 * for by a signal.
 *
 *     our thread   sleeps ─ a duty is wanted ─ does it, with the GVL borrowed where needed ─ sleeps
 *
 * If a Ruby thread runs, a postponed job asks it to lend the GVL (borrow.c) at its next look at
 * interrupts. With several Ractors the main thread is woken for that, as by a signal.
 *
 *   I1  the thread runs no Ruby code. It begins no GC, serves no interrupts and makes no objects.
 *   I2  while the thread exists, `own` changes only under its lock, which is held for short
 *       times.
 *   I3  a process has one such thread, from the first duty to the end of the process. The child
 *       of a fork does not have it; its first postponed job makes a new one, if it has a duty.
 *   I4  the thread is made under the lock: MRI's timer thread may do that, without the GVL.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "vm/thread/own_thread.h"
#include "vm/thread/say.h"
#include "gc/book/state.h"
#include "os/allocator.h"
#include "os/bell.h"
#include "vm_core.h"
#include "ractor_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define MS_NS INT64_C(1000000)
#define HOUR_NS (3600 * 1000 * MS_NS)
#define STACK_BYTES (512 * 1024)

static struct {
    pthread_mutex_t lock;
    pid_t pid;                         /* the process that this belongs to; 0: never begun */
    bool thread;                       /* the thread exists */
    bool busy;                         /* it does a duty */
    bool ended;                        /* it is to begin no more work */
    const struct heapprof_duty *duties[HEAPPROF_DUTIES]; /* NULL: it does not have the duty */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- a Ruby thread ---- */

static void begin_thread(void);

static bool
duty_p(void)
{
    for (int i = 0; i < HEAPPROF_DUTIES; i++) {
        if (own.duties[i]) return true;
    }
    return false;
}

/* In a child that C code has forked without MRI there is no thread to lend to, whatever the
 * parent wanted. */
static void
job(void *unused)
{
    if (own.pid != getpid()) return;
    pthread_mutex_lock(&own.lock);
    if (!own.thread && duty_p()) begin_thread();
    pthread_mutex_unlock(&own.lock);
    if (rb_ec_ractor_ptr(GET_EC()) == GET_VM()->ractor.main_ractor) rb_heapprof_lend();
}

static rb_postponed_job_handle_t
job_handle(void)
{
    return rb_postponed_job_preregister(0, job, NULL);
}

bool
rb_heapprof_own_thread_possible_p(void)
{
    return job_handle() != POSTPONED_JOB_HANDLE_INVALID;
}

/* ---- our thread ---- */

/* MRI sets the interrupt of the thread that ran last, which may be asleep. With one ractor that
 * is enough: if no thread runs, the GVL is free. */
static void
ask_to_lend(void)
{
    rb_postponed_job_trigger(job_handle());
    if (!rb_multi_ractor_p()) return;

    rb_thread_t *main_thread = GET_VM()->ractor.main_thread;
    RUBY_VM_SET_POSTPONED_JOB_INTERRUPT(main_thread->ec);
    rb_threadptr_interrupt(main_thread);
}

void
rb_heapprof_own_thread_borrow(rb_heapprof_borrowing_work *work, void *data)
{
    rb_heapprof_borrow(work, data, ask_to_lend);
}

static const struct heapprof_duty *
duty_of(int name)
{
    pthread_mutex_lock(&own.lock);
    const struct heapprof_duty *duty = own.duties[name];
    pthread_mutex_unlock(&own.lock);
    return duty;
}

/* Returns false if the process ends. */
static bool
begin_work(void)
{
    pthread_mutex_lock(&own.lock);
    own.busy = !own.ended;
    pthread_mutex_unlock(&own.lock);
    return own.busy;
}

static void
end_work(void)
{
    pthread_mutex_lock(&own.lock);
    own.busy = false;
    pthread_mutex_unlock(&own.lock);
}

/* Returns whether there was work. If not, there is none before *until_ns. */
static bool
serve_once(int64_t *until_ns)
{
    bool worked = false;

    *until_ns = rb_heapprof_bell_now() + HOUR_NS;
    for (int i = 0; i < HEAPPROF_DUTIES; i++) {
        const struct heapprof_duty *duty = duty_of(i);
        if (!duty || !duty->wanted_p(until_ns) || !begin_work()) continue;
        duty->work();
        end_work();
        worked = true;
    }
    return worked;
}

NORETURN(static void *serve(void *unused));

static void *
serve(void *unused)
{
    int64_t until_ns;

    rb_heapprof_gc_begin_own_work();
    for (;;) {
        if (!serve_once(&until_ns)) rb_heapprof_bell_wait(until_ns);
    }
}

static int
create_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);

    if (error) return error;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &attributes, serve, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* Under the lock. The thread gets no signals. */
static void
begin_thread(void)
{
    sigset_t all, before;

    rb_heapprof_allocator_share_arenas();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create_thread();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    own.thread = error == 0;
    if (error) {
        rb_heapprof_say("nothing is written while the program runs, for lack of a thread",
                        strerror(error));
    }
}

/* ---- begin, end, fork ---- */

/* Under the lock. */
static void
begin_process(void)
{
    rb_heapprof_bell_init();
    rb_heapprof_borrow_init();
    own.pid = getpid();
}

void
rb_heapprof_own_thread_begin(enum heapprof_duty_name name, const struct heapprof_duty *duty)
{
    pthread_mutex_lock(&own.lock);
    if (own.pid == 0) begin_process();
    own.duties[name] = duty;
    if (!own.thread && !own.ended) begin_thread();
    pthread_mutex_unlock(&own.lock);
    rb_heapprof_bell_ring();
}

void
rb_heapprof_own_thread_stop(enum heapprof_duty_name name)
{
    pthread_mutex_lock(&own.lock);
    own.duties[name] = NULL;
    pthread_mutex_unlock(&own.lock);
    rb_heapprof_bell_give_signal(name);
    rb_heapprof_bell_ring();
}

/* Signals for which MRI installs handlers at its start. */
static bool
ruby_handles_p(uint32_t number)
{
    return number == SIGHUP || number == SIGQUIT || number == SIGALRM || number == SIGUSR1 ||
           number == SIGUSR2;
}

int
rb_heapprof_own_thread_take_signal(enum heapprof_duty_name name, uint32_t number)
{
    pthread_mutex_lock(&own.lock);
    if (own.pid == 0) begin_process();
    pthread_mutex_unlock(&own.lock);
    return rb_heapprof_bell_take_signal(name, (int)number, ruby_handles_p(number));
}

static bool
busy_p(void)
{
    pthread_mutex_lock(&own.lock);
    bool busy = own.busy && own.pid == getpid();
    pthread_mutex_unlock(&own.lock);
    return busy;
}

/* Gives the GVL only to our thread. Without the GVL held, other Ruby threads would see the main
 * thread asleep at exit. */
void
rb_heapprof_own_thread_wait(void)
{
    const struct timespec moment = { .tv_nsec = MS_NS / 2 };

    while (busy_p()) {
        rb_heapprof_lend();
        nanosleep(&moment, NULL);
    }
}

void
rb_heapprof_own_thread_end(void)
{
    pthread_mutex_lock(&own.lock);
    own.ended = true;
    pthread_mutex_unlock(&own.lock);
    if (own.pid) rb_heapprof_own_thread_wait();
}

/* The parent's thread may have held the lock at the fork; its snapshot is lost. The next
 * postponed job makes the new thread, because MRI's own state is still the parent's here. */
void
rb_heapprof_own_thread_after_fork(void)
{
    pthread_mutex_init(&own.lock, NULL);
    own.thread = false;
    own.ended = false;
    if (own.pid == 0) return;
    begin_process();
    own.busy = false;
    if (duty_p()) rb_postponed_job_trigger(job_handle());
}
