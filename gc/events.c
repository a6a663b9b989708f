/* events.c - the events of the collector that several files want. It hands the news round. Compiled
 * inside gc.c.
 *
 *     marking has ended, and free lists go back to their pages
 *         graph/      which slots were not marked (baseline.c)
 *         objects/    pending samples are resolved, and young ones judged; free lists are joined
 *         vm/names/   code will move, if this GC compacts
 *     sweeping has ended
 *         objects/    is this the peak (peak.c)? In debug builds: are the tables whole (verify.c)?
 */
#include "gc/interpreter.h"

HEAPPROF_COLD static void
rb_heapprof_clear(struct ractor_newobj_cache *cache)
{
    graph_caches_cleared();
    if (!rb_heapprof_on) return;
    const rb_objspace_t *objspace = rb_gc_get_objspace();

    begin_change();
    note_major(objspace);
    pending_resolve(&cache->heapprof.pending);
    bool marked = during_gc && gc_mode(objspace) == gc_mode_sweeping; /* or the ractor has ended */
    if (marked) young_marked(objspace, rb_heapprof_quarantine_on);
    end_change();
    gaps_disarm(cache);
    if (objspace->flags.during_compacting) rb_heapprof_frames_forget_code();
    forget_known_sites();
}

HEAPPROF_COLD static void
rb_heapprof_swept(struct rb_objspace *objspace)
{
    look_for_peak(objspace);
    if (HEAPPROF_CHECK) rb_heapprof_verify(objspace);
}
