/* run.c - start, stop and redraw, for objects and blocks alike: the main switch. Compiled
 * inside gc.c.
 *
 * All ractors are stopped, which vm/run/run.c sees to.
 */
#include "gc/book/state.h"
#include "gc/book/track.h"
#include "gc/uses/uses.h"

HEAPPROF_COLD static void
reserve_a_little(void)
{
    begin_change();
    lock_blocks();
    rb_heapprof_tables_reserve(&rb_heapprof.tables);
    unlock_blocks();
    end_change();
}

HEAPPROF_COLD void
rb_heapprof_gc_start(void)
{
    rb_heapprof.epoch++;
    reserve_a_little();
    uses_start();
    rb_heapprof_on = true;
    want_clears(&clears_wanted.sampling, true);
    clear_known_sites();
    rb_gc_ractor_newobj_cache_foreach(cache_start_i, NULL);
    rb_heapprof_gc_settle_blocks();
    rb_heapprof_gc_redraw_blocks();
    rb_heapprof_stress = rb_heapprof.run.options.gc_stress;
}

HEAPPROF_COLD void
rb_heapprof_gc_stop(void)
{
    rb_heapprof_gc_copy_rest();
    uses_stop();
    rb_heapprof_stress = 0;
    rb_gc_ractor_newobj_cache_foreach(cache_stop_i, NULL);
    rb_heapprof_on = false;
    want_clears(&clears_wanted.sampling, false);
    rb_heapprof_gc_forget_waiting();
    rb_heapprof_gc_redraw_blocks();
    untrack_all();
}

HEAPPROF_COLD void
rb_heapprof_gc_resolve_all(void)
{
    begin_change();
    rb_gc_ractor_newobj_cache_foreach(cache_resolve_i, NULL);
    rb_heapprof_gc_settle_blocks();
    end_change();
}

HEAPPROF_COLD void
rb_heapprof_gc_settle_all(void)
{
    begin_change();
    rb_heapprof_gc_resolve_all();
    settle_young();
    end_change();
}

HEAPPROF_COLD void
rb_heapprof_gc_redraw(void)
{
    rb_heapprof.epoch++;
    rb_gc_ractor_newobj_cache_foreach(cache_redraw_i, NULL);
    rb_heapprof_gc_redraw_blocks();
}
