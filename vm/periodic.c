/* periodic.c - files while the program runs: every so often, and when a signal asks for one.
 *
 *     our thread      sleeps ─ due, or signalled ─ wants a snapshot ──────── encode ─ write ─ sleeps
 *                                                  │ trigger          ▲
 *     a Ruby thread   ...                          └─▶ job: snapshot ─┘  ...
 *
 * A native thread of ours, which Ruby knows nothing of, waits without the GVL. If no thread of Ruby runs when it
 * wants a snapshot, it takes that itself, and none of them is woken (idle.c). If one runs, a postponed job does, at
 * the next place where it looks for interrupts; both are tried until one has done it. With several Ractors
 * our thread cannot. Then the main thread is woken as a signal would wake it, and goes on sleeping afterwards:
 * MRI looks again at what it waits for.
 *
 *   I1  a snapshot runs no Ruby code: no GC is begun, no interrupts are served, no objects made.
 *   I2  stage and run change under the lock; nothing takes long, or waits, while it is held.
 *   I3  a snapshot belongs to the job, then, with stage back at NOTHING, to our thread.
 *   I4  while writing is set, the series is our thread's.
 *   I5  there is one such thread in a process, from its first start to its end. A child of fork has
 *       none, and its first job makes one.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "periodic.h"
#include "boot.h"
#include "flush.h"
#include "gc/state.h"
#include "idle.h"
#include "os/bell.h"
#include "os/file.h"
#include "run.h"
#include "vm_core.h"
#include "ractor_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define MS_NS INT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)

/* How long a thread that runs may take to look for interrupts before the main thread is woken; and how
 * long, at most, until that is tried again. */
#define PATIENCE_NS (20 * MS_NS)
#define PATIENCE_MOST_NS SECOND_NS

/* How often it is looked whether the program has trapped the signal: at first, and at most. */
#define WATCH_NS SECOND_NS
#define WATCH_MOST_NS (60 * SECOND_NS)

#define STACK_BYTES (512 * 1024)

enum stage {
    NOTHING, /* is wanted */
    WANTED,  /* by our thread: the next job takes a snapshot */
    TAKING   /* a job is at it */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;               /* writing or poking is over */
    pid_t pid;                         /* whose all this is; 0: never started */
    bool thread;                       /* there is one */
    uint64_t run;                      /* counts starts and stops: what a job began before is nobody's */
    struct heapprof_series *series;    /* NULL: off */
    uint64_t every_ms;
    int64_t due_ns, watch_ns, watch_for_ns;
    uint32_t signal;                   /* 0: none, or the program has it */
    unsigned int with;                 /* of rb_heapprof_snapshot */
    enum stage stage;
    bool writing;
    bool poking;                       /* our thread has a Ruby thread look for interrupts */
    bool failed;                       /* the last file could not be written, and that was said */
    struct heapprof_snapshot *snapshot; /* taken and not written */
    char program[NAME_MAX + 1];        /* $0 then; its last component */
} periodic = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER };

static struct heapprof_series own_series;

/* ---- the job: a Ruby thread, with the GVL ---- */

static void *
nothing(void *unused)
{
    return unused;
}

/* Others run, and interrupts wait: they may raise, which a job may not. */
static void
let_others_run(void)
{
    rb_execution_context_t *ec = GET_EC();
    rb_atomic_t mask = ec->interrupt_mask;

    ec->interrupt_mask = ~(rb_atomic_t)0;
    rb_nogvl(nothing, NULL, NULL, NULL, RB_NOGVL_INTR_FAIL);
    ec->interrupt_mask = mask;
}

static bool
begin_taking(unsigned int *with, uint64_t *run)
{
    pthread_mutex_lock(&periodic.lock);
    bool begun = periodic.stage == WANTED;
    if (begun) periodic.stage = TAKING;
    *with = periodic.with;
    *run = periodic.run;
    pthread_mutex_unlock(&periodic.lock);
    return begun;
}

static void
note_program(void)
{
    const char *name = rb_heapprof_boot_program();
    const char *slash = strrchr(name, '/');

    snprintf(periodic.program, sizeof(periodic.program), "%s", slash ? slash + 1 : name);
}

/* Between the two with the GVL. */
static void
end_taking(struct heapprof_snapshot *snapshot, uint64_t run)
{
    pthread_mutex_lock(&periodic.lock);
    periodic.stage = NOTHING;
    if (run == periodic.run) {
        periodic.snapshot = snapshot;
        snapshot = NULL;
        note_program();
    }
    pthread_mutex_unlock(&periodic.lock);
    rb_heapprof_snapshot_free(snapshot);
    rb_heapprof_bell_ring();
}

static void begin_thread(void);

static void
job(void *unused)
{
    unsigned int with;
    uint64_t run;

    if (!periodic.thread) begin_thread();
    if (rb_ec_ractor_ptr(GET_EC()) != GET_VM()->ractor.main_ractor) return;
    if (!begin_taking(&with, &run)) return;
    end_taking(rb_heapprof_snapshot_between(with, let_others_run), run);
}

static rb_postponed_job_handle_t
job_handle(void)
{
    return rb_postponed_job_preregister(0, job, NULL);
}

/* ---- our thread: a snapshot ---- */

static void
take_between(void (*between)(void), void *begun)
{
    unsigned int with;
    uint64_t run;

    *(bool *)begun = begin_taking(&with, &run);
    if (*(bool *)begun) end_taking(rb_heapprof_snapshot_between(with, between), run);
}

/* When a Ruby thread has come in between, it is still wanted. */
static void
take_while_idle(void)
{
    bool begun = false;

    if (rb_heapprof_idle_do(take_between, &begun) || !begun) return;
    pthread_mutex_lock(&periodic.lock);
    periodic.stage = periodic.series ? WANTED : NOTHING;
    pthread_mutex_unlock(&periodic.lock);
}

/* MRI sets the interrupt for whoever ran last, who may be asleep. */
static void
wake_main_thread(void)
{
    rb_thread_t *main_thread = GET_VM()->ractor.main_thread;

    RUBY_VM_SET_POSTPONED_JOB_INTERRUPT(main_thread->ec);
    rb_threadptr_interrupt(main_thread);
}

static void
trigger(void)
{
    rb_postponed_job_trigger(job_handle());
}

/* Calls function if nobody has begun. Without the lock, for it may run an extension's unblocking function;
 * but the process does not end meanwhile. */
static void
unless_begun(void (*function)(void))
{
    pthread_mutex_lock(&periodic.lock);
    periodic.poking = periodic.stage == WANTED;
    bool poking = periodic.poking;
    pthread_mutex_unlock(&periodic.lock);
    if (!poking) return;

    function();
    pthread_mutex_lock(&periodic.lock);
    periodic.poking = false;
    pthread_cond_broadcast(&periodic.idle);
    pthread_mutex_unlock(&periodic.lock);
}

static bool
taken_p(void)
{
    pthread_mutex_lock(&periodic.lock);
    bool taken = periodic.stage == NOTHING;
    pthread_mutex_unlock(&periodic.lock);
    return taken;
}

/* Or nobody wants it any more. */
static void
wait_until_taken(void)
{
    int64_t patience = PATIENCE_NS;

    while (!taken_p()) {
        unless_begun(take_while_idle);
        unless_begun(trigger);
        int64_t until = rb_heapprof_bell_now() + patience;
        while (!taken_p() && rb_heapprof_bell_now() < until) rb_heapprof_bell_wait(until);
        if (rb_multi_ractor_p()) unless_begun(wake_main_thread);
        if (patience < PATIENCE_MOST_NS) patience *= 2;
    }
}

/* ---- our thread: the file ---- */

/* Only a regular file: a pipe whose reader is away would hold up the end of the process. */
static int
write_regular(const char *path, const char *bytes, size_t size)
{
    struct heapprof_file file;
    int error = rb_heapprof_file_begin(&file, path, bytes, size, false);

    if (error) return error;
    if (!rb_heapprof_file_regular_p(&file)) return rb_heapprof_file_end(&file, ENOTSUP);
    while ((error = rb_heapprof_file_step(&file)) == EINTR);
    return rb_heapprof_file_end(&file, error);
}

static void
tell_failed(const char *path, int error)
{
    if (error && !periodic.failed) rb_heapprof_boot_complain_unwritten(path, error);
    periodic.failed = error != 0;
}

static void
write_snapshot(struct heapprof_snapshot *snapshot, struct heapprof_series *series)
{
    char path[PATH_MAX];
    size_t size;
    char *bytes = rb_heapprof_flush_encode(snapshot, &size);
    int error = bytes ? 0 : ENOMEM;

    rb_heapprof_snapshot_free(snapshot);
    path[0] = '\0';
    if (!error && !rb_heapprof_series_next(series, periodic.program, path, sizeof(path))) {
        error = ENAMETOOLONG;
    }
    if (!error) error = write_regular(path, bytes, size);
    free(bytes);
    if (!error) {
        rb_heapprof_boot_tell_distinct(series, path);
        rb_heapprof_series_written(series, path);
    }
    tell_failed(path, error);
}

static void
write_what_was_taken(void)
{
    struct heapprof_snapshot *snapshot;

    pthread_mutex_lock(&periodic.lock);
    snapshot = periodic.snapshot;
    periodic.snapshot = NULL;
    periodic.writing = snapshot && periodic.series;
    struct heapprof_series *series = periodic.series;
    pthread_mutex_unlock(&periodic.lock);

    if (snapshot && series) write_snapshot(snapshot, series);
    else rb_heapprof_snapshot_free(snapshot);

    pthread_mutex_lock(&periodic.lock);
    periodic.writing = false;
    pthread_cond_broadcast(&periodic.idle);
    pthread_mutex_unlock(&periodic.lock);
}

/* ---- our thread ---- */

/* Under the lock. Says once that the program traps the signal itself: it is the program's, then. */
static bool
lost_signal_p(int64_t now)
{
    if (!periodic.signal || now < periodic.watch_ns) return false;
    periodic.watch_ns = now + periodic.watch_for_ns;
    if (periodic.watch_for_ns < WATCH_MOST_NS) periodic.watch_for_ns *= 2;
    return !rb_heapprof_bell_has_signal_p();
}

static void
tell_lost_signal(uint32_t signal)
{
    char line[128];

    snprintf(line, sizeof(line), "the program traps SIG%s by now, and it writes no profile any more",
             rb_heapprof_signal_name((int)signal));
    rb_heapprof_boot_complain("signal", line);
}

/* Whether there is something to do now; and if there is not, until when. */
static bool
wanted_p(int64_t *until)
{
    int64_t now = rb_heapprof_bell_now();
    uint32_t lost = 0;
    bool wanted = rb_heapprof_bell_signalled_p();

    pthread_mutex_lock(&periodic.lock);
    if (lost_signal_p(now)) {
        lost = periodic.signal;
        periodic.signal = 0;
    }
    if (periodic.every_ms && now >= periodic.due_ns) {
        wanted = true;
        periodic.due_ns += (int64_t)periodic.every_ms * MS_NS;
        if (periodic.due_ns <= now) periodic.due_ns = now + (int64_t)periodic.every_ms * MS_NS;
    }
    wanted = wanted && periodic.series;
    if (wanted && periodic.stage == NOTHING) periodic.stage = WANTED;
    *until = now + 3600 * SECOND_NS;
    if (periodic.every_ms && periodic.due_ns < *until) *until = periodic.due_ns;
    if (periodic.signal && periodic.watch_ns < *until) *until = periodic.watch_ns;
    pthread_mutex_unlock(&periodic.lock);
    if (lost) tell_lost_signal(lost);
    return wanted;
}

NORETURN(static void *serve(void *unused));

static void *
serve(void *unused)
{
    int64_t until;

    rb_heapprof_gc_begin_own_work();
    for (;;) {
        if (wanted_p(&until)) {
            wait_until_taken();
            write_what_was_taken();
        }
        else {
            rb_heapprof_bell_wait(until);
        }
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

/* No signal is for it. */
static void
begin_thread(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create_thread();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    periodic.thread = error == 0;
    if (error) rb_heapprof_boot_complain("no profile is written while the program runs", strerror(error));
}

/* ---- start, stop, end, fork ---- */

static bool
trapped_p(uint32_t number)
{
    return GET_VM()->trap_list.cmd[number] != 0;
}

/* For these MRI has handlers of its own from its start. */
static bool
ruby_handles_p(uint32_t number)
{
    return number == SIGHUP || number == SIGQUIT || number == SIGALRM || number == SIGUSR1 ||
           number == SIGUSR2;
}

const char *
rb_heapprof_periodic_refusal(const struct heapprof_options *options, char *message, size_t size)
{
    if (!rb_heapprof_options_periodic_p(options)) return NULL;
    if (options->signal && trapped_p(options->signal)) {
        snprintf(message, size, "the program traps SIG%s itself; expected a signal that it does not trap",
                 rb_heapprof_signal_name((int)options->signal));
        return message;
    }
    if (job_handle() == POSTPONED_JOB_HANDLE_INVALID) {
        return "every and signal need a postponed job of MRI, and all are taken";
    }
    return NULL;
}

/* Under the lock. */
static void
wait_until_idle(void)
{
    while ((periodic.writing || periodic.poking) && periodic.pid == getpid()) {
        pthread_cond_wait(&periodic.idle, &periodic.lock);
    }
}

static void
begin_series(const struct heapprof_options *options, struct heapprof_series *series, const char *directory)
{
    int64_t now = rb_heapprof_bell_now();

    periodic.series = series;
    if (!series) {
        rb_heapprof_series_free(&own_series);
        rb_heapprof_series_init(&own_series, options->out, directory, true, options->keep);
        periodic.series = &own_series;
    }
    periodic.run++;
    periodic.every_ms = options->every_ms;
    periodic.due_ns = now + (int64_t)options->every_ms * MS_NS;
    periodic.signal = options->signal;
    periodic.watch_for_ns = WATCH_NS;
    periodic.watch_ns = now + WATCH_NS;
    periodic.with = (options->owners ? RB_HEAPPROF_OWNERS : 0) | (options->rss ? RB_HEAPPROF_RSS : 0);
}

bool
rb_heapprof_periodic_start(const struct heapprof_options *options, struct heapprof_series *series,
                           const char *directory)
{
    if (!rb_heapprof_options_periodic_p(options)) return true;
    if (periodic.pid == 0) {
        rb_heapprof_bell_init();
        periodic.pid = getpid();
    }
    if (options->signal &&
        rb_heapprof_bell_take_signal((int)options->signal, ruby_handles_p(options->signal)) != 0) {
        return false;
    }
    pthread_mutex_lock(&periodic.lock);
    wait_until_idle();
    begin_series(options, series, directory);
    pthread_mutex_unlock(&periodic.lock);
    if (!periodic.thread) begin_thread();
    rb_heapprof_bell_ring();
    return true;
}

/* Under the lock. */
static void
forget_all(void)
{
    periodic.run++;
    periodic.series = NULL;
    periodic.every_ms = 0;
    periodic.signal = 0;
    if (periodic.stage == WANTED) periodic.stage = NOTHING;
}

void
rb_heapprof_periodic_stop(void)
{
    if (!periodic.series) return;
    pthread_mutex_lock(&periodic.lock);
    forget_all();
    pthread_mutex_unlock(&periodic.lock);
    rb_heapprof_bell_give_signal();
    rb_heapprof_bell_ring();
}

/* The GVL is kept: another thread would see the main thread asleep. Ours does not need it. */
void
rb_heapprof_periodic_end(void)
{
    pthread_mutex_lock(&periodic.lock);
    forget_all();
    wait_until_idle();
    pthread_mutex_unlock(&periodic.lock);
}

/* The lock, and what it protects, may be as the parent's thread held it. A thread is made by the next job:
 * MRI's own state is the parent's yet. */
void
rb_heapprof_periodic_after_fork(void)
{
    if (periodic.pid == 0) return;
    pthread_mutex_init(&periodic.lock, NULL);
    pthread_cond_init(&periodic.idle, NULL);
    rb_heapprof_bell_init();
    rb_heapprof_snapshot_free(periodic.snapshot);
    periodic.snapshot = NULL;
    periodic.pid = getpid();
    periodic.thread = false;
    periodic.stage = NOTHING;
    periodic.writing = periodic.poking = false;
    periodic.run++;
    periodic.due_ns = rb_heapprof_bell_now() + (int64_t)periodic.every_ms * MS_NS;
    if (!periodic.series) return;
    if (periodic.series == &own_series) rb_heapprof_series_fork(&own_series);
    rb_postponed_job_trigger(job_handle());
}
