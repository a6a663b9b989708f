/* malloc.c - samples what is asked of MRI's allocator: a meter runs backwards with each byte,
 * and the request that brings it below zero pays. Compiled inside gc.c.
 *
 * countdown.c says which request is a sample. A sample is a piece of its block
 * (profiler/blocks.h), at the stack and the C function that asked for it:
 *
 *     malloc n      left -= n             below 0: the block is a sample
 *     realloc       left -= growth        below 0: the growth is one
 *     free, realloc filter[address]       0: surely not known
 *
 * A block may be freed anywhere: in a sweep, by a thread without the GVL, by a ractor while
 * another ractor changes the tables. So blocks have a lock of their own, the innermost of all:
 *
 *     sample, snapshot    VM lock, then the blocks' lock       all tables
 *     free, realloc       the blocks' lock alone               blocks (no memory asked for)
 *
 * What the pieces of a freed block leave to do with sites waits for the next thread that has
 * the VM lock.
 *
 * A sample takes the VM lock without joining the barrier of a ractor that wants to collect. For
 * a block that was just reallocated is not in its object yet, and a ractor that marks the
 * object would read the old block. MRI collects in malloc, but never behind realloc.
 *
 * Requests of the collector during a GC have no stack. Requests without the GVL wait to be
 * entered (waiting.c), and have one only with memcheck.
 *
 * With malloc=all the same bytes, and more, come by malloc_all.c. Then `left` is ENDLESS here
 * and nothing is lifted here, so that nothing counts twice.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#include "ruby/atomic.h"

STATIC_ASSERT(blocks_have_no_header, !CALC_EXACT_MALLOC_SIZE);

/* ---- the sample ---- */

HEAPPROF_COLD static void
settle_blocks(bool all)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    const struct heapprof_piece *piece;

    begin_change();
    lock_blocks();
    settle_waiting(all);
    while ((piece = rb_heapprof_blocks_retired(&tables->blocks)) != NULL) {
        if (piece->site != HEAPPROF_SITE_WAITING)
            rb_heapprof_sites_count_retired(&tables->sites, piece);
        rb_heapprof_blocks_take_retired(&tables->blocks);
    }
    unlock_blocks();
    end_change();
}

HEAPPROF_COLD void
rb_heapprof_gc_settle_blocks(void)
{
    settle_blocks(true);
}

HEAPPROF_COLD static void
sample_block(const uintptr_t *frame, uintptr_t address, size_t begin, size_t size_bytes)
{
    begin_change();
    settle_blocks(false);
    follow_samples();
    rb_heapprof.account.total_samples++;
    while (!block_enter(frame, address, begin, size_bytes)) {
        if (rb_heapprof_gc_make_room()) continue;
        rb_heapprof.account.dropped++;
        break;
    }
    end_change();
}

HEAPPROF_COLD static bool
may_sample_p(void)
{
    return ruby_native_thread_p() && ruby_thread_has_gvl_p();
}

/* True if the profiler itself reports this memory. */
HEAPPROF_COLD static bool
own_report_p(uintptr_t address)
{
    return heapprof_thread.own_report && rb_heapprof_reported_block_p(address);
}

/* Called where MRI may collect, once the thread's countdown has run out or was called. NULL:
 * nobody wants to know (gc/wbcheck/early.c). */
static void (*may_collect_i)(void);

HEAPPROF_COLD static void
rb_heapprof_malloc(void *mem, size_t begin, size_t end)
{
    struct heapprof_thread *thread = &heapprof_thread;

    if (may_collect_i) may_collect_i();
    if (!block_due_p(thread, &thread->own, end - begin)) return;
    if (!rb_heapprof_on || rb_heapprof.run.options.malloc_all || thread->own_work ||
        own_report_p((uintptr_t)mem)) {
        thread_redraw(thread);
        return;
    }
    if (!may_sample_p() || !room_on_stack_p(GET_EC(), true)) {
        sample_without_stack(mem, begin, end - begin);
        thread_redraw(thread);
        return;
    }
    unsigned int lev = rb_gc_vm_lock_no_barrier();
    lock_blocks(); /* once: settling, entering and the next gap all need it */
    if (rb_heapprof.work.reading) sample_without_stack(mem, begin, end - begin);
    else if (sampling_blocks_p())
        sample_block(__builtin_frame_address(0), (uintptr_t)mem, begin, end - begin);
    thread_redraw(thread);
    unlock_blocks();
    rb_gc_vm_unlock_no_barrier(lev);
}

/* ---- free and realloc ---- */

HEAPPROF_COLD static void
remove_block(void *mem)
{
    lock_blocks();
    rb_heapprof.tables.blocks.last_gc = last_gc_now();
    rb_heapprof_blocks_remove(&rb_heapprof.tables.blocks, (uintptr_t)mem);
    unlock_blocks();
}

HEAPPROF_COLD static void
rb_heapprof_free(void *mem)
{
    check_xfree(mem);
    remove_block(mem);
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
    return rb_heapprof.run.options.malloc_all ? 0 : lift_block(mem);
}

HEAPPROF_COLD static void
rb_heapprof_put(uint32_t lifted, void *mem)
{
    lock_blocks();
    rb_heapprof.tables.blocks.last_gc = last_gc_now();
    rb_heapprof_blocks_put(&rb_heapprof.tables.blocks, lifted, (uintptr_t)mem);
    unlock_blocks();
}

HEAPPROF_COLD static void
rb_heapprof_cut_block(void *mem, size_t size_bytes)
{
    lock_blocks();
    rb_heapprof.tables.blocks.last_gc = last_gc_now();
    rb_heapprof_blocks_cut(&rb_heapprof.tables.blocks, (uintptr_t)mem, size_bytes);
    unlock_blocks();
}
