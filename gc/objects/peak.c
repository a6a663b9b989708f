/* peak.c - keeps what was alive when most was alive, as a high-water mark stays on a wall. Compiled
 * inside gc.c.
 *
 *     sweep has ended     what is alive now, by site: the sums (profiler/sums.h)
 *     5 % above the peak  they are copied: this moment is the peak
 *
 * Only then: a heap that grows would copy at each GC. So the peak may be missed by less than 5 %.
 * While an object is swept its death is taken off the sums. So at the end of the sweep they have
 * what the GC has left alive, and what was allocated meanwhile.
 *
 * In GC. Asks for no memory: the room for the copy is there.
 */
#include "gc/book/state.h"
#include "os/clock.h"
#include <time.h>

#define HIGHER 1.05

/* A pending sample is in no sum. Other ractors may run, and be about to give theirs a class. */
HEAPPROF_COLD static void
resolve_for_peak(void)
{
    if (!rb_multi_ractor_p()) rb_gc_ractor_newobj_cache_foreach(cache_resolve_i, NULL);
}

/* While blocks stand still. */
HEAPPROF_COLD static void
keep_if_peak(uint64_t gc_count)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    double bytes = rb_heapprof_sites_alive(&tables->sites);

    if (bytes <= tables->peak.bytes * HIGHER) return;
    if (rb_heapprof.work.copies) rb_heapprof_copies_take_sites(rb_heapprof.work.copies);
    rb_heapprof_tables_keep_peak(tables, bytes, gc_count, rb_heapprof_clock_ns(CLOCK_REALTIME));
}

HEAPPROF_COLD static void
look_for_peak(const rb_objspace_t *objspace)
{
    if (!rb_heapprof.tables.sites.object_sums.kept) return;
    begin_change();
    resolve_for_peak();
    lock_blocks();
    keep_if_peak(objspace->profile.count);
    unlock_blocks();
    end_change();
}
