/* malloc.c - samples what is asked of the allocator, by its own bytes. Compiled inside gc.c.
 *
 * Each native thread counts down the bytes it asks for to the next point of a Poisson
 * process of its own (independent streams of one rate add up to one stream):
 *
 *     malloc n      left -= n             below 0: the block is a sample
 *     realloc       left -= growth        below 0: the growth is one
 *     free, realloc filter[address]       0: surely not known
 *
 * Off, left is ENDLESS at most, and the filter is zero; so the same subtraction and the
 * same test serve off and on. All threads that have ever asked are in a list, for start to call
 * them to draw new gaps.
 *
 * The countdown is its owner's: nobody else subtracts, and no subtraction is atomic. Another
 * thread that wants gaps drawn anew writes CALLED over it, so that the owner comes here with its
 * next request, draws, and looks at that request by the new gap. The write may be lost, to a
 * subtraction that had read before. Then the owner goes on with what it had:
 *
 *     a gap       its sample has the weight of the interval it was drawn at, which the owner
 *                 keeps; that a gap outlasts a change says nothing of where its point is
 *     ENDLESS     at its end there is no sample, but a gap is drawn if one is wanted: of a
 *                 thread that missed the start, so many bytes at most go unseen
 *
 * Gaps have no memory, so they may be drawn anew whenever that does not depend on where the point
 * was: by a call, after a sample, at the end of ENDLESS; never at a gap's own end without a sample.
 *
 * A block may be freed anywhere: in a sweep, by a thread without the GVL, by a ractor while
 * another changes the tables. So blocks have a lock of their own, the innermost of all:
 *
 *     sample, snapshot    VM lock, then the blocks' lock       all tables
 *     free, realloc       the blocks' lock alone               blocks (no memory asked for)
 *
 * and what a freed block's pieces leave to do with sites waits for the next who has the VM lock.
 *
 * The sample takes the VM lock without joining the barrier of a ractor that wants to collect: a
 * block that has been reallocated is not in its object yet, and who marks that would read the
 * old one. MRI collects in malloc, but never behind realloc.
 *
 * What the collector asks for itself, during a GC, stands at no stack; nor does what is asked for
 * without the GVL, which waits to be entered (waiting.c).
 *
 * With malloc=all the same bytes, and others, come by malloc_all.c; then left is ENDLESS here and
 * nothing is lifted here, lest anything be counted twice.
 */
#include "state.h"
#include "interpreter.h"
#include "base/check.h"
#ifdef HAVE_BACKTRACE
# include <execinfo.h>
#endif
#include <pthread.h>
#include "ruby/atomic.h"

uint8_t rb_heapprof_block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct heapprof_thread *threads; /* under blocks_lock, with what all have left */

#define ENDLESS (INT64_C(1) << 26) /* bytes after which a thread comes by, whatever is wanted */
#define CALLED (INT64_MIN / 2)     /* to come by now; no request is as large */

/* ---- the lock ---- */

/* A thread may want it while it has it: other handlers of a fork may do anything, on both of its
 * sides, where the kernel's number of the thread, which a recursive mutex knows its owner by, is
 * another. */
HEAPPROF_COLD static void
lock_blocks(void)
{
    if (heapprof_thread.locks++ == 0) pthread_mutex_lock(&blocks_lock);
}

HEAPPROF_COLD static void
unlock_blocks(void)
{
    if (--heapprof_thread.locks == 0) pthread_mutex_unlock(&blocks_lock);
}

/* ---- threads ---- */

static pthread_key_t thread_end;

/* With the lock, of the thread that runs. */
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
    draw_countdown(&thread->own, !rb_heapprof.options.malloc_all);
    draw_countdown(&thread->all, rb_heapprof.options.malloc_all);
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
    thread->own.left = thread->all.left = INT64_MAX; /* what it asks for last must not bring it back */
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

/* The others are not there any more. */
HEAPPROF_COLD static void
after_fork_child(void)
{
    pthread_mutex_init(&blocks_lock, NULL);
    heapprof_thread.locks = 0;
    threads = NULL;
    if (heapprof_thread.previous_next) threads_enter(&heapprof_thread);
}

HEAPPROF_COLD static void
prepare_threads(void)
{
    pthread_key_create(&thread_end, thread_leave);
    pthread_atfork(before_fork, after_fork, after_fork_child);
}

/* This thread asks for the first time. */
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

/* One of its countdowns has run out with a request of that many bytes: is this a sample? Otherwise
 * it has been drawn anew. */
HEAPPROF_COLD static bool
block_due_p(struct heapprof_thread *thread, struct heapprof_countdown *countdown, size_t size_bytes)
{
    if (!thread->previous_next) thread_join(thread);
    else if (countdown->interval_bytes && countdown->left > CALLED / 2) return true;
    else thread_redraw(thread);
    countdown->left -= (int64_t)size_bytes;
    return countdown->interval_bytes && countdown->left < 0;
}

HEAPPROF_COLD void rb_heapprof_gc_lock_blocks(void) { lock_blocks(); }
HEAPPROF_COLD void rb_heapprof_gc_unlock_blocks(void) { unlock_blocks(); }

/* ---- the sample ---- */

/* The return addresses around us, innermost first. */
struct addresses {
    uintptr_t all[20];
    size_t    count;
};

HEAPPROF_COLD static struct addresses
take_addresses(void)
{
    struct addresses addresses = { .count = 0 };
#ifdef HAVE_BACKTRACE
    int count = backtrace((void **)addresses.all, numberof(addresses.all));
    if (count > 0) addresses.count = (size_t)count;
#endif
    return addresses;
}

/* The first backtrace of a process loads the unwinder, and asks the C library for memory. */
HEAPPROF_COLD void
rb_heapprof_gc_load_unwinder(void)
{
    take_addresses();
}

/* Who asks. own: so many of the functions on the way are ours, from take_addresses to what a gate
 * calls; none of them is ever inlined. */
HEAPPROF_COLD static uintptr_t
find_caller(const struct addresses *addresses, size_t own)
{
    if (heapprof_thread.own_work) own++; /* what stands for the C library's function */
    return rb_heapprof_callers_find(&rb_heapprof.tables.callers, addresses->all, addresses->count, own);
}

HEAPPROF_COLD static uint32_t
identity_of_caller(uintptr_t caller)
{
    struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    uint32_t no_page = 0; /* code does not move or die */
    if (!caller) return 0;

    uintptr_t key = rb_heapprof_callers_key(caller);
    uint32_t id = rb_heapprof_identities_find(identities, key);
    if (id) return id;
    id = rb_heapprof_identities_add(identities, &no_page, key);
    if (id) rb_heapprof.unnamed_callers = true;
    return id;
}

/* A GC, which may begin anywhere, says nothing of whoever is running. */
HEAPPROF_COLD static uint32_t
asking_stack(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return during_gc ? 0 : capture_stack();
}

HEAPPROF_COLD static uint32_t
block_site(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct addresses addresses = take_addresses();
    uint32_t stack = asking_stack();
    if (stack == HEAPPROF_NO_STACK) return 0;

    uint32_t caller = identity_of_caller(find_caller(&addresses, 5));
    return rb_heapprof_sites_intern(&tables->sites, stack, caller | HEAPPROF_SITE_OF_BLOCKS);
}

/* That the gap of the sample at hand was drawn at. */
HEAPPROF_COLD static uint64_t
gap_interval_bytes(void)
{
    const struct heapprof_thread *thread = &heapprof_thread;
    return rb_heapprof.options.malloc_all ? thread->all.interval_bytes : thread->own.interval_bytes;
}

/* Still, after waiting for a lock. */
HEAPPROF_COLD static bool
sampling_blocks_p(void)
{
    return rb_heapprof_on && gap_interval_bytes() > 0;
}

/* As asked for now. */
HEAPPROF_COLD static struct heapprof_piece
make_piece(size_t begin, size_t size_bytes, uint32_t site)
{
    return (struct heapprof_piece){
        .begin = begin,
        .asked_bytes = size_bytes,
        .site = site,
        .birth_gc = (uint32_t)rb_gc_count(),
        .weight = (float)rb_heapprof_sampler_weight(gap_interval_bytes(), size_bytes),
    };
}

/* With the lock. What is only reported goes to the end of its size's block. */
HEAPPROF_COLD static bool
add_piece(uintptr_t address, struct heapprof_piece *piece)
{
    struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;

    if (rb_heapprof_reported_block_p(address)) {
        piece->begin = rb_heapprof_blocks_end(blocks, address);
    }
    return rb_heapprof_blocks_add(blocks, address, piece);
}

HEAPPROF_COLD static bool
enter_at(uint32_t site, uintptr_t address, size_t begin, size_t size_bytes)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_piece piece = make_piece(begin, size_bytes, site);
    if (piece.site == 0) return false;

    lock_blocks();
    bool entered = add_piece(address, &piece);
    unlock_blocks();
    if (entered) rb_heapprof_sites_count_alloc(&tables->sites, piece.site, piece.weight, size_bytes);
    return entered;
}

HEAPPROF_COLD static bool
block_enter(uintptr_t address, size_t begin, size_t size_bytes)
{
    return enter_at(block_site(), address, begin, size_bytes);
}

#include "waiting.c"

/* What has waited for the VM lock. */
HEAPPROF_COLD void
rb_heapprof_gc_settle_blocks(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t site;

    lock_blocks();
    settle_waiting();
    while ((site = rb_heapprof_blocks_take_retired(&tables->blocks)) != 0) {
        if (site != HEAPPROF_SITE_WAITING) rb_heapprof_sites_count_free(&tables->sites, site);
    }
    unlock_blocks();
}

HEAPPROF_COLD static void
sample_block(uintptr_t address, size_t begin, size_t size_bytes)
{
    rb_heapprof_gc_settle_blocks();
    rb_heapprof.total_samples++;
    if (block_enter(address, begin, size_bytes)) return;
    if (rb_heapprof_gc_make_room() && block_enter(address, begin, size_bytes)) return;
    rb_heapprof.dropped++;
}

HEAPPROF_COLD static bool
may_sample_p(void)
{
    return ruby_native_thread_p() && ruby_thread_has_gvl_p();
}

/* Is it the profiler that reports? */
HEAPPROF_COLD static bool
own_report_p(uintptr_t address)
{
    return heapprof_thread.own_report && rb_heapprof_reported_block_p(address);
}

HEAPPROF_COLD static void
rb_heapprof_malloc(void *mem, size_t begin, size_t end)
{
    struct heapprof_thread *thread = &heapprof_thread;

    if (!block_due_p(thread, &thread->own, end - begin)) return;
    if (!rb_heapprof_on || rb_heapprof.options.malloc_all || thread->own_work ||
        own_report_p((uintptr_t)mem)) {
        thread_redraw(thread);
        return;
    }
    if (!may_sample_p()) {
        sample_without_stack(mem, begin, end - begin);
        thread_redraw(thread);
        return;
    }
    if (stack_low_p(GET_EC()) && !on_signal_stack_p()) probe_stack();
    unsigned int lev = rb_gc_vm_lock_no_barrier();
    if (rb_heapprof.reading) sample_without_stack(mem, begin, end - begin);
    else if (sampling_blocks_p()) sample_block((uintptr_t)mem, begin, end - begin);
    thread_redraw(thread);
    rb_gc_vm_unlock_no_barrier(lev);
}

#include "growth.c"

/* ---- free and realloc ---- */

HEAPPROF_COLD static void
rb_heapprof_free(void *mem)
{
    lock_blocks();
    rb_heapprof_blocks_remove(&rb_heapprof.tables.blocks, (uintptr_t)mem);
    unlock_blocks();
}

HEAPPROF_COLD static uint32_t
lift_block(void *mem)
{
    lock_blocks();
    uint32_t lifted = rb_heapprof_blocks_lift(&rb_heapprof.tables.blocks, (uintptr_t)mem);
    unlock_blocks();
    return lifted;
}

HEAPPROF_COLD static uint32_t
rb_heapprof_lift(void *mem)
{
    return rb_heapprof.options.malloc_all ? 0 : lift_block(mem);
}

HEAPPROF_COLD static void
rb_heapprof_put(uint32_t lifted, void *mem)
{
    lock_blocks();
    rb_heapprof_blocks_put(&rb_heapprof.tables.blocks, lifted, (uintptr_t)mem);
    unlock_blocks();
}

HEAPPROF_COLD static void
rb_heapprof_cut_block(void *mem, size_t size_bytes)
{
    lock_blocks();
    rb_heapprof_blocks_cut(&rb_heapprof.tables.blocks, (uintptr_t)mem, size_bytes);
    unlock_blocks();
}

/* ---- memory that is only reported ---- */

/* The report at hand alone: the collection that it may start has others. */
HEAPPROF_COLD static bool
take_own_report(void)
{
    bool own = heapprof_thread.own_report;
    heapprof_thread.own_report = false;
    return own;
}

HEAPPROF_COLD void
rb_heapprof_gc_report_own(ssize_t diff_bytes)
{
    heapprof_thread.own_report = true;
    rb_gc_adjust_memory_usage(diff_bytes);
    heapprof_thread.own_report = false; /* nobody has asked when the profiler is off */
}

/* With malloc=all it is seen where it is asked for. */
HEAPPROF_COLD static bool
reports_wanted_p(void)
{
    return rb_heapprof_on && !rb_heapprof.options.malloc_all &&
           rb_heapprof.malloc_sampler.interval_bytes > 0;
}

/* Makes room to count one more. A table may grow under the VM lock only. */
HEAPPROF_COLD static void
reserve_report(size_t size_bytes)
{
    struct heapprof_reported *reported = &rb_heapprof.tables.reported;

    lock_blocks();
    bool room = rb_heapprof_reported_room_p(reported, size_bytes);
    unlock_blocks();
    if (room || !may_sample_p()) return;

    unsigned int lev = rb_gc_vm_lock_no_barrier();
    lock_blocks();
    if (reports_wanted_p()) rb_heapprof_reported_reserve(reported);
    unlock_blocks();
    rb_gc_vm_unlock_no_barrier(lev);
}

/* What cannot be counted is no sample either: nobody could say when it is given back. */
HEAPPROF_COLD static void
enter_report(struct heapprof_tables *tables, size_t size_bytes)
{
    if (rb_heapprof_reported_room_p(&tables->reported, size_bytes)) {
        rb_heapprof_reported_add(&tables->reported, size_bytes);
        return;
    }
    rb_heapprof_blocks_remove(&tables->blocks, rb_heapprof_reported_block(size_bytes));
    RUBY_ATOMIC_SIZE_INC(rb_heapprof.dropped_blocks);
}

/* A report is sampled first, if it is, and counted then: what another thread gives back in
 * between is not this one. */
HEAPPROF_COLD static void
rb_heapprof_report(size_t size_bytes)
{
    if (take_own_report()) return;
    reserve_report(size_bytes);
    lock_blocks();
    if (reports_wanted_p()) enter_report(&rb_heapprof.tables, size_bytes);
    unlock_blocks();
}

HEAPPROF_COLD static void
rb_heapprof_give_back(size_t size_bytes)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;

    if (take_own_report()) return;
    lock_blocks();
    if (reports_wanted_p()) {
        rb_heapprof_reported_give_back(&tables->reported, size_bytes, &tables->blocks,
                                       &rb_heapprof.malloc_sampler);
    }
    unlock_blocks();
}

/* No event of the collector's, so no patch of its own. */
#include "malloc_all.c"
