/* marks.c - the black box: a file each time that memory crosses a mark upwards, as a gauge of a
 * river that rings a bell at each mark.
 *
 *     gauge thread   looks ─ sleeps ─ looks ─ crossed! ─ asks our thread ─ waits ─┬─ written
 *                                                                                └─ no answer: copy
 *     our thread     (own_thread.c)                  borrows the GVL ─ snapshot ─ write
 *     a copy         (frozen.c)                                      snapshot ─ write
 *
 * The gauge thread needs no GVL, and asks malloc for nothing before the file is written. What it
 * needs is set aside at start. As long as the program lends its GVL, the file is written as every
 * other. A program that is stuck in C does not; then a copy of it writes.
 *
 * The kernel tells of no level below a limit: memory.events counts what happens at the limit, PSI
 * tells of tasks that wait already, and both may need rights. So the thread looks, and how soon
 * again depends on how far the next mark is (profiler/gauge).
 *
 * When our thread has written a file, it also has all objects dumped, if a copy of the process has
 * room in memory. The copy goes on writing, and is the first that the kernel ends.
 *
 *   I1  `marks` changes under its lock, except `file`, which only the one that writes touches.
 *   I2  Who is asked and does not begin in time is not waited for any more: `turn` has gone on. */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "vm/run/marks.h"
#include "base/aside.h"
#include "base/version.h"
#include "gc/book/state.h"
#include "os/allocator.h"
#include "os/bell.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/memory_use.h"
#include "profiler/gauge.h"
#include "profiler/grown.h"
#include "profiler/out.h"
#include "profiler/series.h"
#include "vm/run/child.h"
#include "vm/run/environment.h"
#include "vm/run/flush.h"
#include "vm/run/frozen.h"
#include "vm/run/origin.h"
#include "vm/run/take.h"
#include "vm/thread/own_thread.h"
#include "vm/thread/say.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>

#define MS_NS INT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)
#define STACK_BYTES (512 * 1024)
#define STEP_NS (20 * MS_NS)     /* between two looks at whether the program is stuck */
#define STUCK_NS (200 * MS_NS)   /* in which a program lends its GVL, unless it is stuck */
#define BEGIN_NS SECOND_NS       /* in which our thread begins, unless it has other work */

#define COPIES_MOST 3            /* after so many the file waits for the program */
#define DUMP_SHARE 8             /* of RSS: so much has to be left for a dump */
#define DUMPS_KEPT 3             /* the first, the last, and one that may not become whole */

enum turn { NOBODY, ASKED, BEGUN, WRITING, WRITTEN, FAILED };

/* What the one that writes leaves, in memory that a copy shares with its parent. */
struct marks_file {
    struct heapprof_series series;
    char path[PATH_MAX];
    char lines[16384];           /* comments: what has rung, and what is known then */
    size_t given;                /* length of those that the gauge thread has written */
    int  error;
    struct heapprof_grown grown;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;      /* waits by the monotonic clock */
    bool on;                     /* the gauge thread ends when it is not */
    bool thread;                 /* the gauge thread exists */
    bool failed;                 /* the last file could not be written; the user knows */
    enum turn turn;
    unsigned int with;           /* flags of rb_heapprof_snapshot */
    struct heapprof_gauge gauge; /* of the gauge thread alone */
    char out[HEAPPROF_OUT_MAX];
    struct marks_file *file;     /* shared */
    rb_heapprof_marks_dump *dump;  /* NULL: objects are not dumped */
    struct heapprof_series dumps; /* which of these are kept; of our thread alone */
    pid_t copy;                  /* that writes, or has written, the last one; 0: none */
} marks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool
on_p(void)
{
    pthread_mutex_lock(&marks.lock);
    bool on = marks.on;
    pthread_mutex_unlock(&marks.lock);
    return on;
}

/* ---- the file: by whoever has the turn ---- */

PRINTF_ARGS(static void add_line(const char *format, ...), 1, 2);

/* Without a locale, and without malloc: numbers and short texts. */
static void
add_line(const char *format, ...)
{
    struct marks_file *file = marks.file;
    size_t used = strlen(file->lines);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(file->lines + used, sizeof(file->lines) - used, format, arguments);
    va_end(arguments);
}

static void
add_ladder(const struct heapprof_ladder *ladder)
{
    if (ladder->rss == 0) return;
#define ADD_RUNG(name, title) \
    add_line(HEAPPROF_COMMENT_RUNG "%" PRIu64 " bytes, %s\n", ladder->name, title);
    HEAPPROF_RUNGS(ADD_RUNG)
#undef ADD_RUNG
}

/* Encodes and writes. Needs no GVL. */
static int
write_file(struct heapprof_snapshot *snapshot, const char *program)
{
    struct marks_file *file = marks.file;
    size_t size;

    file->lines[file->given] = '\0';
    add_ladder(&snapshot->ladder);
    size_t used = strlen(file->lines);
    rb_heapprof_grown_tell(&file->grown, snapshot, file->lines + used,
                           sizeof(file->lines) - used);
    if (!rb_heapprof_origin_add(snapshot, file->lines)) return ENOMEM;
    char *bytes = rb_heapprof_flush_encode(snapshot, &size);
    if (!bytes) return ENOMEM;
    int error = ENAMETOOLONG;
    if (rb_heapprof_series_next(&file->series, program, file->path, sizeof(file->path)))
        error = rb_heapprof_flush_write_regular(file->path, bytes, size);
    rb_heapprof_aside_free(bytes);
    return error;
}

static int
write_in_copy(struct heapprof_snapshot *snapshot)
{
    marks.file->error = write_file(snapshot, rb_heapprof_environment_program());
    return marks.file->error;
}

/* ---- our thread ---- */

struct marks_taking {
    struct heapprof_snapshot *snapshot;
    char program[NAME_MAX + 1];
};

static bool
pass_turn(enum turn from, enum turn to)
{
    pthread_mutex_lock(&marks.lock);
    bool passed = marks.turn == from;
    if (passed) marks.turn = to;
    pthread_cond_broadcast(&marks.changed);
    pthread_mutex_unlock(&marks.lock);
    return passed;
}

static void
take(const struct heapprof_others *others, void *data)
{
    struct marks_taking *taking = data;
    int jump; /* between never jumps in this thread */

    if (!pass_turn(ASKED, BEGUN)) return;
    rb_heapprof_environment_name(taking->program, sizeof(taking->program));
    taking->snapshot = rb_heapprof_snapshot_beside(marks.with, others, &jump);
}

static bool
wanted_p(int64_t *until)
{
    pthread_mutex_lock(&marks.lock);
    bool wanted = marks.turn == ASKED;
    pthread_mutex_unlock(&marks.lock);
    return wanted;
}

/* Whether the limit is far enough for a copy, which takes what the program writes to meanwhile, and
 * the disk has room for what it writes. */
static bool
dump_affordable_p(const char *path)
{
    struct heapprof_memory_use use;
    struct statvfs disk;

    rb_heapprof_memory_use(&use, NULL);
    if (use.limit && use.used + use.resident / DUMP_SHARE > use.limit) return false;
    return statvfs(path, &disk) == 0 && disk.f_bavail * disk.f_frsize >= 2 * use.resident;
}

/* "heapprof-1-at85-1.pb.gz" becomes "heapprof-1-at85-1.rbgraph". */
static bool
name_dump(char path[PATH_MAX], const char *profile)
{
    static const char suffix[] = ".pb.gz";
    size_t length = strlen(profile), kept = length;

    if (length > strlen(suffix) && !strcmp(profile + length - strlen(suffix), suffix))
        kept -= strlen(suffix);
    return snprintf(path, PATH_MAX, "%.*s.rbgraph", (int)kept, profile) < PATH_MAX;
}

/* Under the lock, so that the gauge thread never sees a copy that it does not know. */
static void
dump_objects(const struct heapprof_others *others, void *path)
{
    pthread_mutex_lock(&marks.lock);
    bool begun = marks.on && marks.dump(path, &marks.copy);
    pthread_mutex_unlock(&marks.lock);
    if (begun) rb_heapprof_series_written(&marks.dumps, path);
}

static void
dump_beside(const char *profile)
{
    char path[PATH_MAX];

    if (marks.dump && name_dump(path, profile) && dump_affordable_p(profile))
        rb_heapprof_own_thread_borrow(dump_objects, path);
}

/* A snapshot that comes too late is dropped: a copy has written. */
static void
take_and_write(void)
{
    struct marks_taking taking = {0};
    char path[PATH_MAX] = "";

    rb_heapprof_own_thread_borrow(take, &taking);
    if (!taking.snapshot) {
        pass_turn(BEGUN, FAILED);
        return;
    }
    if (pass_turn(BEGUN, WRITING)) {
        marks.file->error = write_file(taking.snapshot, taking.program);
        if (!marks.file->error) strcpy(path, marks.file->path);
        pass_turn(WRITING, marks.file->error ? FAILED : WRITTEN);
    }
    rb_heapprof_snapshot_free(taking.snapshot);
    if (path[0]) dump_beside(path);
}

static const struct heapprof_duty duty = { .wanted_p = wanted_p, .work = take_and_write };

/* ---- the gauge thread: a file ---- */

/* The moment that is so far from now. */
static struct timespec
moment_in(int64_t ns)
{
    ns += rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    return (struct timespec){ .tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = ns % SECOND_NS };
}

/* Under the lock. Whether our thread cannot go on. While it writes it needs no GVL. */
static bool
stuck_p(int64_t asked_ns)
{
    if (marks.turn == WRITING) return false;
    return rb_heapprof_borrow_waits_ns() >= STUCK_NS ||
           (marks.turn == ASKED && rb_heapprof_clock_ns(CLOCK_MONOTONIC) - asked_ns >= BEGIN_NS);
}

/* Our thread writes the file. Returns false if it could not, or had no memory. */
static bool
written_by_our_thread_p(void)
{
    int64_t asked_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);

    pthread_mutex_lock(&marks.lock);
    marks.turn = ASKED;
    rb_heapprof_bell_ring();
    while (marks.on && (marks.turn == ASKED || marks.turn == BEGUN || marks.turn == WRITING) &&
           !stuck_p(asked_ns)) {
        struct timespec until = moment_in(STEP_NS);
        pthread_cond_timedwait(&marks.changed, &marks.lock, &until);
    }
    enum turn turn = marks.turn;
    if (turn != WRITING) marks.turn = NOBODY;
    pthread_mutex_unlock(&marks.lock);
    return turn == WRITTEN || turn == WRITING ||
           (turn == FAILED && marks.file->error && marks.file->error != ENOMEM);
}

static bool
written_by_copy_p(void)
{
    const struct heapprof_frozen_asks asks = { .with = marks.with, .write = write_in_copy,
                                               .wanted_p = on_p };
    struct marks_file *file = marks.file;
    size_t given = file->given;

    add_line(HEAPPROF_COMMENT_COPY "the program did not give up the GVL\n");
    file->given = strlen(file->lines);
    int error = rb_heapprof_frozen_write(&asks);
    file->given = given;
    file->lines[given] = '\0';
    return error == 0 || (error == ECHILD && file->error != 0 && file->error != ENOMEM);
}

static void
add_facts(const struct heapprof_memory_use *use)
{
    struct heapprof_memory_facts facts;

    pthread_mutex_lock(&marks.lock);
    pid_t copy = marks.copy; /* shares its memory with the program */
    pthread_mutex_unlock(&marks.lock);
    rb_heapprof_memory_facts(&facts, use, copy);
    add_line(HEAPPROF_COMMENT_RESIDENT "%" PRIu64 " bytes\n", use->resident);
    if (use->limit)
        add_line(HEAPPROF_COMMENT_LIMIT "%" PRIu64 " of %" PRIu64 " bytes, %s\n", use->used,
                 use->limit, use->name);
    if (use->group[0]) {
        add_line(HEAPPROF_COMMENT_OTHERS "%" PRIu64 " bytes, %" PRIu64 "\n", facts.other_bytes,
                 facts.others);
        add_line(HEAPPROF_COMMENT_REACHED "high %" PRIu64 ", max %" PRIu64 ", killed %" PRIu64 "\n",
                 facts.high, facts.max, facts.killed);
    }
    if (facts.largest)
        add_line(HEAPPROF_COMMENT_LARGEST "%" PRIu64 " bytes, %" PRIu64 " %s\n",
                 facts.largest_bytes, facts.largest, facts.largest_name);
    add_line(HEAPPROF_COMMENT_WAITED "%" PRIu64 "%%\n", facts.stalled_percent);
}

/* "85%" or "512m" */
static void
mark_text(uint64_t value, char text[24])
{
    if (value <= 100) snprintf(text, 24, "%" PRIu64 "%%", value);
    else if (value % (1 << 20) == 0) snprintf(text, 24, "%" PRIu64 "m", value >> 20);
    else snprintf(text, 24, "%" PRIu64, value);
}

/* Returns false if its name would be too long. */
static bool
prepare_file(uint64_t value, const struct heapprof_memory_use *use)
{
    struct marks_file *file = marks.file;
    char text[24];

    mark_text(value, text);
    file->lines[0] = file->path[0] = '\0';
    file->error = 0;
    add_line(HEAPPROF_COMMENT_MARK "%s\n", text);
    add_facts(use);
    file->given = strlen(file->lines);
    file->series.pid = getpid(); /* in a copy, too */
    return rb_heapprof_out_with_mark(marks.out, text, file->series.out, sizeof(file->series.out));
}

static void
tell(void)
{
    struct marks_file *file = marks.file;

    if (!file->error) {
        rb_heapprof_flush_say_distinct(&file->series, file->path);
        rb_heapprof_series_written(&file->series, file->path);
    }
    else if (!marks.failed) rb_heapprof_flush_say_unwritten(file->path, file->error);
    marks.failed = file->error != 0;
}

static void
write_at(uint64_t value, const struct heapprof_memory_use *use)
{
    bool written = false;
    int copies = 0;

    if (!prepare_file(value, use)) {
        marks.file->error = ENAMETOOLONG;
        tell();
        return;
    }
    while (!written && on_p())
        written = written_by_our_thread_p() || (copies++ < COPIES_MOST && written_by_copy_p());
    if (on_p()) tell();
}

/* ---- the gauge thread: when ---- */

/* Under the lock. Returns false when there is nothing to watch any more. */
static bool
look(void)
{
    struct heapprof_memory_use use;
    int64_t wait_ns;

    rb_heapprof_memory_use(&use, NULL);
    const struct heapprof_level level = { use.resident, use.used, use.limit };
    int64_t now_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    uint64_t value = rb_heapprof_gauge_look(&marks.gauge, &level, now_ns, &wait_ns);
    if (value) {
        pthread_mutex_unlock(&marks.lock);
        write_at(value, &use);
        pthread_mutex_lock(&marks.lock);
    }
    else {
        struct timespec until = moment_in(wait_ns);
        while (marks.on && pthread_cond_timedwait(&marks.changed, &marks.lock, &until) == 0);
    }
    return marks.on;
}

static void *
watch(void *unused)
{
    rb_heapprof_gc_begin_own_work();
    pthread_mutex_lock(&marks.lock);
    while (look()) continue;
    marks.thread = false;
    pthread_cond_broadcast(&marks.changed);
    pthread_mutex_unlock(&marks.lock);
    return NULL;
}

/* ---- start, stop, fork ---- */

static void
init_lock(void)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&marks.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&marks.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    marks.turn = NOBODY;
    marks.thread = false;
    marks.copy = 0;
}

/* The thread gets no signals. */
static int
begin_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);

    if (error) return error;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, watch, NULL);
    marks.thread = error == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* A child of fork does not share it with its parent, nor a run with an earlier one. Returns false
 * if there is no memory. */
static bool
set_file_aside(const struct marks_file *before)
{
    marks.file = rb_heapprof_child_share(sizeof(*marks.file));
    if (marks.file && before) memcpy(marks.file, before, sizeof(*before));
    return marks.file;
}

/* The thread of an earlier run ends by itself, and waits for nobody meanwhile. */
static bool
earlier_ended_p(void)
{
    struct timespec until = moment_in(SECOND_NS);

    pthread_mutex_lock(&marks.lock);
    while (marks.thread && pthread_cond_timedwait(&marks.changed, &marks.lock, &until) == 0);
    bool ended = !marks.thread;
    pthread_mutex_unlock(&marks.lock);
    return ended;
}

bool
rb_heapprof_marks_on_p(void)
{
    return marks.on;
}

int
rb_heapprof_marks_check(const struct heapprof_options *options, const char *directory,
                        char path[PATH_MAX])
{
    struct heapprof_series series;
    char text[24];

    snprintf(path, PATH_MAX, "%s", options->out);
    if (path[0] != '/' && directory[0] != '/') return ENOENT; /* it is gone */
    mark_text(options->at[0], text);
    rb_heapprof_series_init(&series, "", directory, true, options->keep);
    if (!rb_heapprof_out_with_mark(options->out, text, series.out, sizeof(series.out)) ||
        !rb_heapprof_series_first(&series, rb_heapprof_environment_program(), path, PATH_MAX))
        return ENAMETOOLONG;
    return rb_heapprof_file_check(path);
}

bool
rb_heapprof_marks_size_p(const struct heapprof_options *options)
{
    bool size = false;

    for (int i = 0; i < HEAPPROF_MARKS; i++) size = size || options->at[i] > 100;
    return size;
}

const char *
rb_heapprof_marks_remark(const struct heapprof_options *options)
{
    struct heapprof_memory_use use;
    bool share = false;

    for (int i = 0; i < HEAPPROF_MARKS; i++)
        share = share || (options->at[i] > 0 && options->at[i] <= 100);
    if (!share) return NULL;
    rb_heapprof_memory_use(&use, NULL);
    if (use.limit) return NULL;
    return rb_heapprof_marks_size_p(options)
        ? "at=: this process has no limit of memory, of which a mark could be a part; the marks "
          "that are sizes count"
        : "at=: this process has no limit of memory, of which a mark could be a part; give a "
          "size, such as at=512m";
}

/* Waits for nobody: our thread may call this, for a process outside. The gauge thread ends by
 * itself. */
void
rb_heapprof_marks_stop(void)
{
    if (!marks.on) return;
    pthread_mutex_lock(&marks.lock);
    marks.on = false;
    pthread_cond_broadcast(&marks.changed);
    pthread_mutex_unlock(&marks.lock);
    rb_heapprof_own_thread_stop(HEAPPROF_DUTY_MARK);
}

int
rb_heapprof_marks_start(const struct heapprof_options *options, const char *directory,
                        rb_heapprof_marks_dump *dump)
{
    if (!options->at[0]) return 0;
    if (!rb_heapprof_own_thread_possible_p()) return EAGAIN;
    if (!earlier_ended_p()) return EBUSY;
    if (marks.file) {
        rb_heapprof_series_free(&marks.file->series);
        munmap(marks.file, sizeof(*marks.file));
    }
    if (!set_file_aside(NULL) || !rb_heapprof_frozen_prepare()) return ENOMEM;
    init_lock();
    rb_heapprof_gauge_init(&marks.gauge, options->at);
    snprintf(marks.out, sizeof(marks.out), "%s", options->out);
    rb_heapprof_series_init(&marks.file->series, "", directory, true, options->keep);
    rb_heapprof_series_free(&marks.dumps);
    rb_heapprof_series_init(&marks.dumps, "", "", true, DUMPS_KEPT);
    marks.dump = options->graph ? dump : NULL;
    marks.with =
        (options->owners ? RB_HEAPPROF_OWNERS : 0) | (options->rss ? RB_HEAPPROF_RSS : 0);
    rb_heapprof_allocator_read(); /* the first time asks malloc */
    rb_heapprof_own_thread_begin(HEAPPROF_DUTY_MARK, &duty);
    marks.on = true;
    int error = begin_thread();
    if (error) rb_heapprof_marks_stop();
    return error;
}

/* Its thread is made at once: it is of the C library alone, and MRI does not know it. */
void
rb_heapprof_marks_after_fork(void)
{
    if (!marks.on && !marks.thread) return;
    init_lock();
    if (!marks.on) return;
    rb_heapprof_series_fork(&marks.dumps);
    rb_heapprof_gauge_fork(&marks.gauge);
    struct marks_file *before = marks.file;
    if (set_file_aside(before)) {
        rb_heapprof_series_fork(&marks.file->series);
        munmap(before, sizeof(*before));
        if (begin_thread() == 0) return;
    }
    marks.on = false;
    rb_heapprof_say("nothing is written when memory crosses a mark", "no memory for a thread");
}
