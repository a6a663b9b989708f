/* frozen.c - a snapshot of a program that does not lend its GVL: one that is stuck in a long call
 * of C. The process is copied, and the copy takes the snapshot, as one develops a film at home.
 *
 *     our thread   tables even? ─ lock blocks ─ copy ─ unlock ─ the same number? ─ wait ────────▶
 *     its copy                                   '──▶ snapshot ─ encode ─ write ─ _exit
 *
 *   I1  The words of gc/book/sequence.c are even and equal before and after the copying. So the
 *       tables of the copy are those of one moment, though other threads ran meanwhile. The copy
 *       waits until its parent has seen that, so one that is thrown away has written nothing.
 *   I2  The copy has one thread, and no lock is given back in it. It asks malloc for nothing: what it
 *       encodes lies in memory set aside (base/aside). What malloc says of itself is measured before.
 *   I3  A copy that waits for a lock all the same, or reads what is not there, ends by a signal. The
 *       next one is asked for less: without owners, then without the heap's pages.
 *   I4  The program notices nothing but the time of the copying: no signal, no child to wait for.
 *
 * The heap may be in the midst of an allocation or of a GC. Its objects are only looked at, and I3
 * holds there, too. A thread that has crashed (last.c) may be inside malloc. So a copy of its own
 * asks malloc what it says of itself, and may fail. */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "vm/run/frozen.h"
#include "base/aside.h"
#include "gc/book/state.h"
#include "os/bell.h"
#include "vm/run/child.h"
#include "vm/run/origin.h"
#include "vm/run/rss.h"
#include "vm/run/take.h"
#include "vm/thread/borrow.h"
#include "ractor_core.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS_NS INT64_C(1000000)
#define SECONDS 20               /* a copy has so long */
#define MALLOC_SECONDS 2         /* one that only asks malloc */
#define TRIES 20                 /* to find tables that do not change */
#define ASIDE_BYTES (48 << 20)   /* for what is encoded */
#define SPARE_BYTES (16 << 20)   /* given back in the copy, where RLIMIT_AS may be near */

static char *aside;              /* NULL: none yet */

bool
rb_heapprof_frozen_prepare(void)
{
    if (aside) return true;
    void *memory = mmap(NULL, ASIDE_BYTES + SPARE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    aside = memory;
    return true;
}

/* ---- the copy ---- */

static void
take_and_write(const struct heapprof_others *others, void *data)
{
    const struct heapprof_frozen_asks *asks = data;
    int jump; /* nothing jumps: other threads do not run */

    rb_heapprof_gc_copy_rest_alone(); /* the thread that takes that snapshot is not here */
    struct heapprof_snapshot *snapshot = rb_heapprof_snapshot_beside(asks->with, NULL, &jump);
    _exit(snapshot && asks->write(snapshot) == 0 ? 0 : 1);
}

/* What a copy is told, on the stack of the thread that makes it. */
struct frozen_copy {
    struct heapprof_frozen_asks asks;
    struct heapprof_measured measured;     /* what asks the kernel and malloc: the parent's */
    pid_t pid, parent;                     /* of the parent */
    bool *whole;                           /* shared: the parent has seen that I1 holds */
};

static void
begin_copy(unsigned int seconds)
{
    static const int ends[] = { SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
    const struct rlimit none = {0};

    rb_heapprof_child_take_no_signals();
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) signal(ends[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_close_range, 0, ~0U, 0);
    rb_heapprof_child_die_first();
    alarm(seconds);
}

/* A copy that is to be thrown away must not have written. */
static void
wait_until_whole(const bool *whole)
{
    const struct timespec moment = { .tv_nsec = MS_NS / 4 };

    while (!__atomic_load_n(whole, __ATOMIC_ACQUIRE)) nanosleep(&moment, NULL);
}

NORETURN(static void be_copy(const struct frozen_copy *told));

static void
be_copy(const struct frozen_copy *told)
{
    begin_copy(SECONDS);
    wait_until_whole(told->whole);
    munmap(aside + ASIDE_BYTES, SPARE_BYTES);
    rb_heapprof_aside_begin(aside, ASIDE_BYTES);
    rb_heapprof_gc_unlock_blocks();
    rb_heapprof_origin_copied(told->pid, told->parent);
    rb_heapprof_rss_given = &told->measured;
    rb_heapprof_borrow_alone(take_and_write, (void *)&told->asks);
    _exit(1);
}

/* ---- our thread, or one that has crashed ---- */

static uint64_t
tables_word(void)
{
    return __atomic_load_n(&rb_heapprof_sequence.tables, __ATOMIC_ACQUIRE);
}

/* Returns its pid; 0 in the copy, where no signal comes before it is ready; -1 if the system
 * refuses one. */
static pid_t
copy_process(void)
{
    sigset_t all, mask;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pid_t child = (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
    if (child != 0) pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return child;
}

/* A thread that has crashed may have the lock itself. */
static bool
hold_blocks(bool crashed)
{
    if (crashed) return rb_heapprof_gc_try_lock_blocks();
    rb_heapprof_gc_lock_blocks();
    return true;
}

/* Returns its pid; 0 if the tables have changed meanwhile; -1 if the system refuses a copy. */
static pid_t
copy(const struct frozen_copy *told)
{
    uint64_t before = tables_word();

    if (before & 1 || !hold_blocks(told->asks.crashed)) return 0;
    *told->whole = false;
    pid_t child = copy_process();
    if (child == 0) be_copy(told);
    rb_heapprof_gc_unlock_blocks();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (child < 0) return child;
    if (tables_word() == before) {
        __atomic_store_n(told->whole, true, __ATOMIC_RELEASE);
        return child;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, __WALL);
    return 0;
}

static pid_t
copy_at_rest(const struct frozen_copy *told)
{
    const struct timespec moment = { .tv_nsec = MS_NS };
    pid_t child = 0;

    for (int i = 0; i < TRIES && child == 0; i++) {
        if (i) nanosleep(&moment, NULL);
        child = copy(told);
    }
    return child;
}

/* Returns 0 if it has written. */
static int
wait_for(pid_t child, bool (*wanted_p)(void))
{
    struct timespec moment = { .tv_nsec = MS_NS };
    int status = 0;
    pid_t ended;

    while ((ended = waitpid(child, &status, __WALL | WNOHANG)) == 0) {
        if (!wanted_p()) kill(child, SIGKILL);
        nanosleep(&moment, NULL);
        if (moment.tv_nsec < 50 * MS_NS) moment.tv_nsec *= 2;
    }
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECHILD;
}

/* What malloc says of itself, if it can: a thread that has crashed inside it has its lock for ever,
 * or has left its lists broken. */
static void
ask_malloc_in_copy(struct heapprof_allocator *allocator, bool (*wanted_p)(void))
{
    struct heapprof_allocator *told = rb_heapprof_child_share(sizeof(*told));

    if (!told) return;
    pid_t child = copy_process();
    if (child == 0) {
        begin_copy(MALLOC_SECONDS);
        *told = rb_heapprof_allocator_read();
        _exit(0);
    }
    if (child > 0 && wait_for(child, wanted_p) == 0) *allocator = *told;
    munmap(told, sizeof(*told));
}

/* Returns 0, or errno. */
static int
write_with_less_and_less(struct frozen_copy *told)
{
    const struct heapprof_frozen_asks asks = told->asks;
    const unsigned int less[] = { asks.with, asks.with & RB_HEAPPROF_RSS, 0 };
    int error = ECHILD;

    for (size_t i = 0; i < sizeof(less) / sizeof(*less) && error && asks.wanted_p(); i++) {
        if (i && less[i] == less[i - 1]) continue;
        told->asks.with = less[i];
        pid_t child = copy_at_rest(told);
        if (child <= 0) return child < 0 ? errno : EBUSY;
        error = wait_for(child, asks.wanted_p);
    }
    return error;
}

int
rb_heapprof_frozen_write(const struct heapprof_frozen_asks *asks)
{
    struct frozen_copy told = { .asks = *asks, .pid = getpid(), .parent = getppid() };

    if (rb_multi_ractor_p()) return ENOTSUP;
    told.whole = rb_heapprof_child_share(sizeof(*told.whole));
    if (!told.whole) return ENOMEM;
    rb_heapprof_rss_measure_outside(&told.measured, !asks->crashed);
    if (asks->crashed) ask_malloc_in_copy(&told.measured.allocator, asks->wanted_p);
    int error = write_with_less_and_less(&told);
    munmap(told.whole, sizeof(*told.whole));
    return error;
}
