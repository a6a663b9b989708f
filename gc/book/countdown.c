/* countdown.c - which request of a thread is a sample; and the blocks' lock. Compiled inside
 * gc.c.
 *
 * Each thread has a taxi meter that runs backwards. Each request takes its bytes off, and the
 * one that brings the meter below zero is the sample. The meter is set to the next point of a
 * Poisson process of the thread's own; independent streams of one rate add up to one stream:
 *
 *     left -= bytes          below 0: the point was among them, and this is a sample
 *
 * Off, left is ENDLESS at most, so the same subtraction and the same test serve off and on. All
 * threads that have ever asked are in a list, so that a start can call them to draw new gaps.
 *
 * Only the owner subtracts from its countdown, and no subtraction is atomic. Another thread
 * that wants a new gap writes CALLED over it. Then the owner comes here with its next request,
 * draws a gap, and judges that request by the new gap. The write may be lost to a subtraction
 * that had read before. Then the owner goes on with what it had:
 *
 *     a gap       its sample has the weight of the interval that the gap was drawn at, which the
 *                 owner keeps; that a gap outlasts a change says nothing of where its point is
 *     ENDLESS     at its end there is no sample, but a gap is drawn if one is wanted: a thread
 *                 that missed the start has ENDLESS bytes unseen at most
 *
 * Gaps have no memory. So they may be drawn anew whenever that does not depend on where the
 * point was: at a call, after a sample, at the end of ENDLESS. At a gap's own end there is
 * always a sample.
 *
 * What a thread asks for on the profiler's own behalf is no sample (own work).
 */
#include "gc/book/state.h"
#include <pthread.h>

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct heapprof_thread *threads; /* under blocks_lock, as is setting their countdowns */

#define ENDLESS (INT64_C(1) << 26) /* bytes after which a thread comes here in any case */
#define CALLED (INT64_MIN / 2)     /* the owner is to come here; no request is as large */

/* ---- the lock ---- */

/* A thread may ask for the lock while it has it: other handlers of a fork may do anything, in
 * the parent and in the child. A recursive mutex would not do. It knows its owner by the
 * kernel's number of the thread, which is another in the child. */
HEAPPROF_COLD static void
lock_blocks(void)
{
    if (heapprof_thread.locks++ > 0) return;
    pthread_mutex_lock(&blocks_lock);
    begin_blocks();
}

HEAPPROF_COLD static void
unlock_blocks(void)
{
    if (--heapprof_thread.locks > 0) return;
    end_blocks();
    pthread_mutex_unlock(&blocks_lock);
}

HEAPPROF_COLD void rb_heapprof_gc_lock_blocks(void) { lock_blocks(); }
HEAPPROF_COLD void rb_heapprof_gc_unlock_blocks(void) { unlock_blocks(); }

HEAPPROF_COLD bool
rb_heapprof_gc_try_lock_blocks(void)
{
    if (heapprof_thread.locks > 0 || pthread_mutex_trylock(&blocks_lock) != 0) return false;
    heapprof_thread.locks++;
    begin_blocks();
    return true;
}

/* ---- threads ---- */

static pthread_key_t thread_end;

/* Under the lock. The countdown is one of the running thread. */
HEAPPROF_COLD static void
draw_countdown(struct heapprof_countdown *countdown, bool wanted)
{
    struct heapprof_sampler *sampler = &rb_heapprof.malloc_sampler;

    countdown->interval_bytes = wanted && rb_heapprof_on ? sampler->interval_bytes : 0;
    countdown->left = countdown->interval_bytes ? (int64_t)rb_heapprof_sampler_gap_bytes(sampler)
                                                : ENDLESS;
}

HEAPPROF_COLD static void
thread_draw(struct heapprof_thread *thread)
{
    draw_countdown(&thread->own, !rb_heapprof.run.options.malloc_all);
    draw_countdown(&thread->all, rb_heapprof.run.options.malloc_all);
}

HEAPPROF_COLD static void
thread_leave(void *data)
{
    struct heapprof_thread *thread = data;

    lock_blocks();
    *thread->previous_next = thread->next;
    if (thread->next) thread->next->previous_next = thread->previous_next;
    unlock_blocks();
    thread->previous_next = NULL;
    thread->own.left = thread->all.left = INT64_MAX; /* its last requests must not bring it back */
}

HEAPPROF_COLD static void
threads_enter(struct heapprof_thread *thread)
{
    thread->next = threads;
    thread->previous_next = &threads;
    if (threads) threads->previous_next = &thread->next;
    threads = thread;
}

HEAPPROF_COLD static void before_fork(void) { lock_blocks(); }
HEAPPROF_COLD static void after_fork(void) { unlock_blocks(); }

/* The child has no other threads. */
HEAPPROF_COLD static void
after_fork_child(void)
{
    pthread_mutex_init(&blocks_lock, NULL);
    heapprof_thread.locks = 0;
    waiting_for_gvl = 0;
    settle_sequence();
    threads = NULL;
    if (heapprof_thread.previous_next) threads_enter(&heapprof_thread);
}

HEAPPROF_COLD static void
prepare_threads(void)
{
    pthread_key_create(&thread_end, thread_leave);
    pthread_atfork(before_fork, after_fork, after_fork_child);
}

/* Called when this thread asks for the first time. */
HEAPPROF_COLD static void
thread_join(struct heapprof_thread *thread)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, prepare_threads);
    pthread_setspecific(thread_end, thread);
    lock_blocks();
    /* pthread_setspecific may ask for memory, and so have come here itself. */
    if (!thread->previous_next) threads_enter(thread);
    thread_draw(thread);
    unlock_blocks();
}

HEAPPROF_COLD static void
call_owner(struct heapprof_countdown *countdown)
{
    __atomic_store_n(&countdown->left, CALLED, __ATOMIC_RELAXED);
}

HEAPPROF_COLD void
rb_heapprof_gc_redraw_blocks(void)
{
    lock_blocks();
    for (struct heapprof_thread *thread = threads; thread; thread = thread->next) {
        call_owner(&thread->own);
        call_owner(&thread->all);
    }
    unlock_blocks();
}

HEAPPROF_COLD static void
thread_redraw(struct heapprof_thread *thread)
{
    lock_blocks();
    thread_draw(thread);
    unlock_blocks();
}

/* The countdown of this thread has run out with a request of that many bytes. Returns true if the
 * request is a sample. Otherwise the countdown has been drawn anew. */
HEAPPROF_COLD static bool
block_due_p(struct heapprof_thread *thread, struct heapprof_countdown *countdown, size_t size_bytes)
{
    if (!thread->previous_next) thread_join(thread);
    else if (countdown->interval_bytes && countdown->left > CALLED / 2) return true;
    else thread_redraw(thread);
    countdown->left -= (int64_t)size_bytes;
    return countdown->interval_bytes && countdown->left < 0;
}

/* ---- own work ---- */

HEAPPROF_COLD bool
rb_heapprof_gc_begin_own_work(void)
{
    bool before = heapprof_thread.own_work;
    heapprof_thread.own_work = true;
    return before;
}

HEAPPROF_COLD void
rb_heapprof_gc_end_own_work(bool before)
{
    heapprof_thread.own_work = before;
    if (!before && heapprof_thread.previous_next) thread_redraw(&heapprof_thread);
}
