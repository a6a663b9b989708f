/* reported.c - memory that MRI is only told of (rb_gc_adjust_memory_usage): an account without
 * an address. Reports are counted by size, and sampled like what the allocator gives
 * (malloc.c). Compiled inside gc.c.
 *
 * profiler/reported.h says when a sample goes with what is given back.
 */
#include "gc/book/state.h"
#include "ruby/atomic.h"

/* Holds for this report only: a GC that the report starts has reports of its own. */
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
    heapprof_thread.own_report = false; /* it is still set if the profiler is off */
}

/* Not with malloc=all, which sees that memory where it is asked for. */
HEAPPROF_COLD static bool
reports_wanted_p(void)
{
    return rb_heapprof_on && !rb_heapprof.run.options.malloc_all &&
           rb_heapprof.malloc_sampler.interval_bytes > 0;
}

/* Makes room to count one more report. The table may only grow under the VM lock. */
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

/* A report that cannot be counted is no sample either: nobody could say when it is given back. */
HEAPPROF_COLD static void
enter_report(struct heapprof_tables *tables, size_t size_bytes)
{
    if (rb_heapprof_reported_room_p(&tables->reported, size_bytes)) {
        rb_heapprof_reported_add(&tables->reported, size_bytes);
        return;
    }
    rb_heapprof_blocks_remove(&tables->blocks, rb_heapprof_reported_block(size_bytes));
    RUBY_ATOMIC_SIZE_INC(rb_heapprof.account.dropped_blocks);
}

/* A report is first sampled, if at all, and counted after that. So what another thread gives
 * back in between is not this report. */
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
