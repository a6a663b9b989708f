/* run.c - start, stop and redraw, of objects and blocks alike. Compiled inside gc.c.
 *
 * All ractors are stopped; vm/run.c sees to that. make_room may be called inside a GC.
 */
#include "state.h"
#include "interpreter.h"
#include "track.h"

struct heapprof rb_heapprof;
bool rb_heapprof_on;

HEAPPROF_COLD void
rb_heapprof_gc_start(void)
{
    rb_heapprof.epoch++;
    rb_heapprof_on = true;
    rb_gc_ractor_newobj_cache_foreach(cache_start_i, NULL);
    rb_heapprof_gc_settle_blocks();
    rb_heapprof_gc_redraw_blocks();
}

HEAPPROF_COLD void
rb_heapprof_gc_stop(void)
{
    rb_gc_ractor_newobj_cache_foreach(cache_stop_i, NULL);
    rb_heapprof_on = false;
    rb_heapprof_gc_forget_waiting();
    rb_heapprof_gc_redraw_blocks();
    untrack_all();
}

HEAPPROF_COLD void
rb_heapprof_gc_resolve_all(void)
{
    rb_gc_ractor_newobj_cache_foreach(cache_resolve_i, NULL);
    rb_heapprof_gc_settle_blocks();
}

HEAPPROF_COLD void
rb_heapprof_gc_redraw(void)
{
    rb_heapprof.epoch++;
    rb_gc_ractor_newobj_cache_foreach(cache_redraw_i, NULL);
    rb_heapprof_gc_redraw_blocks();
}

HEAPPROF_COLD bool
rb_heapprof_gc_make_room(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    uint64_t now = objspace->profile.count + 1;

    if (rb_heapprof.folded_at_gc == now) return false;
    rb_heapprof.folded_at_gc = now;
    rb_heapprof_frames_forget();
    uint32_t folded = rb_heapprof_sites_fold(&rb_heapprof.tables.sites);
    rb_heapprof_gc_lock_blocks();
    uint32_t trimmed = rb_heapprof_tables_trim(&rb_heapprof.tables);
    rb_heapprof_gc_unlock_blocks();
    return folded + trimmed > 0;
}
