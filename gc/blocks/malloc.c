/* malloc.c - samples what is asked of the allocator, by its own bytes. Compiled inside gc.c.
 *
 * countdown.c says which request is a sample. A sample is a piece of its block (profiler/blocks.h),
 * at the stack and the C function that asked for it:
 *
 *     malloc n      left -= n             below 0: the block is a sample
 *     realloc       left -= growth        below 0: the growth is one
 *     free, realloc filter[address]       0: surely not known
 *
 * A block may be freed anywhere: in a sweep, by a thread without the GVL, by a ractor while
 * another changes the tables. So blocks have a lock of their own, the innermost of all:
 *
 *     sample, snapshot    VM lock, then the blocks' lock       all tables
 *     free, realloc       the blocks' lock alone               blocks (no memory asked for)
 *
 * and what a freed block's pieces leave to do with sites waits for the next who has the VM lock.
 *
 * The sample takes the VM lock without joining the barrier of a ractor that wants to collect. For a
 * block that has been reallocated is not in its object yet, and a ractor that marks the object would
 * read the old one. MRI collects in malloc, but never behind realloc.
 *
 * What the collector asks for itself, during a GC, stands at no stack. Nor does what is asked for
 * without the GVL; it waits to be entered (waiting.c).
 *
 * With malloc=all the same bytes, and others, come by malloc_all.c; then left is ENDLESS here and
 * nothing is lifted here, lest anything be counted twice.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#ifdef HAVE_BACKTRACE
# include <execinfo.h>
#endif
#if defined(HAVE_BACKTRACE) && defined(__x86_64__) && defined(__linux__)
# define HEAPPROF_STEPS 1
#else
# define HEAPPROF_STEPS 0
#endif
#include "ruby/atomic.h"

uint8_t rb_heapprof_block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

/* ---- the sample ---- */

/* The return addresses around us, innermost first. */
struct addresses {
    uintptr_t all[40];
    size_t    count;
};

/* With memcheck whoever asked by way of MRI is looked for, who is further out. */
HEAPPROF_COLD static struct addresses
take_addresses(void)
{
    struct addresses addresses = { .count = 0 };
#ifdef HAVE_BACKTRACE
    int most = rb_heapprof.options.memcheck ? numberof(addresses.all) : numberof(addresses.all) / 2;
    int count = backtrace((void **)addresses.all, most);
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

#include "gc/blocks/path.c"

HEAPPROF_COLD static uint32_t
identity_of_caller(uintptr_t caller)
{
    struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    if (!caller) return 0;

    uintptr_t key = rb_heapprof_callers_key(caller);
    uint32_t id = rb_heapprof_identities_find(identities, key);
    if (id) return id;
    id = rb_heapprof_identities_add(identities, identities_of_page(key), key);
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

/* frame: of the function that a gate called. */
HEAPPROF_COLD static uint32_t
block_site(const uintptr_t *frame)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t stack = asking_stack();
    if (stack == HEAPPROF_NO_STACK) return 0;

    uint32_t caller = identity_of_caller(asking_caller(frame));
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
block_enter(const uintptr_t *frame, uintptr_t address, size_t begin, size_t size_bytes)
{
    return enter_at(block_site(frame), address, begin, size_bytes);
}

#include "gc/blocks/waiting.c"

/* What has waited for the VM lock. */
HEAPPROF_COLD void
rb_heapprof_gc_settle_blocks(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t site;

    begin_change();
    lock_blocks();
    settle_waiting();
    while ((site = rb_heapprof_blocks_take_retired(&tables->blocks)) != 0) {
        if (site != HEAPPROF_SITE_WAITING) rb_heapprof_sites_count_free(&tables->sites, site);
    }
    unlock_blocks();
    end_change();
}

HEAPPROF_COLD static void
sample_block(const uintptr_t *frame, uintptr_t address, size_t begin, size_t size_bytes)
{
    begin_change();
    rb_heapprof_gc_settle_blocks();
    follow_samples();
    rb_heapprof.total_samples++;
    while (!block_enter(frame, address, begin, size_bytes)) {
        if (rb_heapprof_gc_make_room()) continue;
        rb_heapprof.dropped++;
        break;
    }
    end_change();
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
    else if (sampling_blocks_p()) sample_block(__builtin_frame_address(0), (uintptr_t)mem, begin, end - begin);
    thread_redraw(thread);
    rb_gc_vm_unlock_no_barrier(lev);
}

#include "gc/blocks/growth.c"

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
