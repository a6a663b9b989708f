/* periodic.c - files while the program runs: at regular times, and when a signal asks for one.
 *
 *     our thread   sleeps ─ due, or signalled ─ snapshot, slice by slice ─ add up ─ encode ─ write ─ sleeps
 *     (own_thread.c)                            with the GVL borrowed      without the GVL
 *
 *   I1  `periodic` changes only under its lock, which is held for short times and never while
 *       waiting.
 *   I2  while our thread works (rb_heapprof_own_thread_wait), only it uses the series.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "vm/run/periodic.h"
#include "vm/thread/say.h"
#include "vm/run/environment.h"
#include "vm/run/flush.h"
#include "vm/run/marks.h"
#include "os/bell.h"
#include "os/file.h"
#include "vm/thread/own_thread.h"
#include "vm/run/run.h"
#include "vm/run/take.h"
#include "vm_core.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define MS_NS INT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)

/* The time between two looks at whether the program has trapped the signal: at first, and at
 * most. */
#define WATCH_NS SECOND_NS
#define WATCH_MOST_NS (60 * SECOND_NS)

static struct {
    pthread_mutex_t lock;
    uint64_t run; /* counts starts and stops; a snapshot of an earlier run is dropped */
    struct heapprof_series *series;    /* NULL: off */
    uint64_t every_ms;
    int64_t due_ns, watch_ns, watch_for_ns;
    uint32_t signal;                   /* 0: no signal, or the program has trapped it */
    unsigned int with;                 /* flags of rb_heapprof_snapshot */
    bool failed;                       /* the last file could not be written; the user knows */
} periodic = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct heapprof_series own_series;

/* ---- our thread: a snapshot ---- */

/* A snapshot, and where it is to be written. */
struct periodic_file {
    uint64_t run;
    unsigned int with;
    struct heapprof_series *series;
    struct heapprof_snapshot *snapshot;
    char program[NAME_MAX + 1]; /* the last component of $0 */
};

static void
take(const struct heapprof_others *others, void *data)
{
    struct periodic_file *file = data;
    int jump; /* between never jumps in this thread */

    file->snapshot = rb_heapprof_snapshot_beside(file->with, others, &jump);
    rb_heapprof_environment_name(file->program, sizeof(file->program));
}

/* ---- our thread: the file ---- */

static void
tell_failed(const char *path, int error)
{
    if (error && !periodic.failed) rb_heapprof_flush_say_unwritten(path, error);
    periodic.failed = error != 0;
}

static void
write_file(struct periodic_file *file)
{
    char path[PATH_MAX];
    size_t size;
    char *bytes = rb_heapprof_flush_encode(file->snapshot, &size);
    int error = bytes ? 0 : ENOMEM;

    path[0] = '\0';
    if (!error && !rb_heapprof_series_next(file->series, file->program, path, sizeof(path))) {
        error = ENAMETOOLONG;
    }
    if (!error) error = rb_heapprof_flush_write_regular(path, bytes, size);
    free(bytes);
    if (!error) {
        rb_heapprof_flush_say_distinct(file->series, path);
        rb_heapprof_series_written(file->series, path);
    }
    tell_failed(path, error);
}

/* Returns false if there is nothing to write any more. */
static bool
begin_file(struct periodic_file *file)
{
    pthread_mutex_lock(&periodic.lock);
    *file = (struct periodic_file){ .run = periodic.run,
                                     .with = periodic.with,
                                     .series = periodic.series };
    pthread_mutex_unlock(&periodic.lock);
    return file->series != NULL;
}

/* Whether the snapshot is of the current run. Then it is written, even if the run stops
 * meanwhile. */
static bool
wanted_still_p(const struct periodic_file *file)
{
    pthread_mutex_lock(&periodic.lock);
    bool wanted = file->run == periodic.run && file->snapshot;
    pthread_mutex_unlock(&periodic.lock);
    return wanted;
}

static void
take_and_write(void)
{
    struct periodic_file file;

    if (!begin_file(&file)) return;
    rb_heapprof_own_thread_borrow(take, &file);
    if (wanted_still_p(&file)) write_file(&file);
    rb_heapprof_snapshot_free(file.snapshot);
}

/* ---- our thread: when ---- */

/* Under the lock. True if the program has trapped the signal itself. Then the signal belongs to
 * the program. */
static bool
lost_signal_p(int64_t now)
{
    if (!periodic.signal || now < periodic.watch_ns) return false;
    periodic.watch_ns = now + periodic.watch_for_ns;
    if (periodic.watch_for_ns < WATCH_MOST_NS) periodic.watch_for_ns *= 2;
    return !rb_heapprof_bell_has_signal_p(HEAPPROF_DUTY_PROFILE);
}

static void
tell_lost_signal(uint32_t signal)
{
    char line[128];

    snprintf(line, sizeof(line),
             "the program has a handler of its own for SIG%s now, so the signal writes no profile "
             "any more",
             rb_heapprof_signal_name((int)signal));
    rb_heapprof_say("signal", line);
}

static bool
wanted_p(int64_t *until)
{
    int64_t now = rb_heapprof_bell_now();
    uint32_t lost = 0;
    bool wanted = rb_heapprof_bell_signalled_p(HEAPPROF_DUTY_PROFILE);

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
    if (periodic.every_ms && periodic.due_ns < *until) *until = periodic.due_ns;
    if (periodic.signal && periodic.watch_ns < *until) *until = periodic.watch_ns;
    pthread_mutex_unlock(&periodic.lock);
    if (lost) tell_lost_signal(lost);
    return wanted;
}

static const struct heapprof_duty duty = { .wanted_p = wanted_p, .work = take_and_write };

/* ---- start, stop, end, fork ---- */

static bool
trapped_p(uint32_t number)
{
    return GET_VM()->trap_list.cmd[number] != 0;
}

const char *
rb_heapprof_periodic_refusal(const struct heapprof_options *options, char *message, size_t size)
{
    if (!rb_heapprof_options_periodic_p(options)) return NULL;
    if (options->signal && trapped_p(options->signal)) {
        snprintf(message, size,
                 "the program traps SIG%s itself; expected a signal that it does not trap",
                 rb_heapprof_signal_name((int)options->signal));
        return message;
    }
    return rb_heapprof_own_thread_possible_p()
               ? NULL
               : "every and signal need a postponed job of MRI, and all are taken";
}

static void
begin_series(const struct heapprof_options *options, struct heapprof_series *series,
             const char *directory)
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
    periodic.with =
        (options->owners ? RB_HEAPPROF_OWNERS : 0) | (options->rss ? RB_HEAPPROF_RSS : 0);
}

int
rb_heapprof_periodic_place(const struct heapprof_options *options, char *directory, size_t size)
{
    struct heapprof_series series;
    char path[PATH_MAX];

    directory[0] = '\0';
    if (!rb_heapprof_options_periodic_p(options)) return 0;
    if (options->out[0] != '/' && !getcwd(directory, size)) return errno;
    rb_heapprof_series_init(&series, options->out, directory, true, options->keep);
    if (!rb_heapprof_series_first(&series, rb_heapprof_environment_program(), path, sizeof(path)))
        return ENAMETOOLONG;
    return rb_heapprof_file_check(path);
}

bool
rb_heapprof_periodic_start(const struct heapprof_options *options, struct heapprof_series *series,
                           const char *directory)
{
    if (!rb_heapprof_options_periodic_p(options)) return true;
    if (options->signal &&
        rb_heapprof_own_thread_take_signal(HEAPPROF_DUTY_PROFILE, options->signal) != 0)
        return false;
    rb_heapprof_own_thread_wait();
    pthread_mutex_lock(&periodic.lock);
    begin_series(options, series, directory);
    pthread_mutex_unlock(&periodic.lock);
    rb_heapprof_own_thread_begin(HEAPPROF_DUTY_PROFILE, &duty);
    return true;
}

void
rb_heapprof_periodic_stop(void)
{
    if (!periodic.series) return;
    pthread_mutex_lock(&periodic.lock);
    periodic.run++;
    periodic.series = NULL;
    periodic.every_ms = 0;
    periodic.signal = 0;
    pthread_mutex_unlock(&periodic.lock);
    rb_heapprof_own_thread_stop(HEAPPROF_DUTY_PROFILE);
}

void
rb_heapprof_stop(void)
{
    rb_heapprof_marks_stop();
    rb_heapprof_periodic_stop();
    rb_heapprof_run_stop();
}

/* The parent's thread may have held the lock at the fork. */
void
rb_heapprof_periodic_after_fork(void)
{
    pthread_mutex_init(&periodic.lock, NULL);
    periodic.run++;
    periodic.due_ns = rb_heapprof_bell_now() + (int64_t)periodic.every_ms * MS_NS;
    if (periodic.series == &own_series) rb_heapprof_series_fork(&own_series);
}
