/* late.c - labels that get their names late (profiler/late_sites.h). Compiled inside gc.c.
 *
 * Most blocks that wait are over before a sample falls into them. label.c notes which numbers have
 * samples, and for the rest nothing is done.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#include "profiler/late_sites.h"
#include "vm_sync.h"

/* Pending samples wait, too. */
HEAPPROF_COLD void
rb_heapprof_gc_settle_late(uint32_t number, const struct heapprof_label *name, uint32_t next)
{
    if (!rb_heapprof_on || !sampled_lates[number]) return;

    sampled_lates[number] = false;
    if (next) sampled_lates[next] = true;
    if (rb_multi_ractor_p()) rb_vm_barrier();
    begin_change();
    rb_gc_ractor_newobj_cache_foreach(cache_resolve_i, NULL);
    rb_heapprof_gc_copy_rest();
    forget_numbers();
    rb_heapprof_gc_lock_blocks();
    rb_heapprof_late_sites_settle(&rb_heapprof.tables, number, name, next);
    rb_heapprof_gc_unlock_blocks();
    end_change();
}
