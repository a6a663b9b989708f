/* stress.c - a GC at each Nth allocation (gc_stress=N), so that an object that nobody marks dies
 * near the line that forgot it. Compiled inside gc.c.
 *
 * Allocations are counted where a free list is empty. With interval=1 each list ends after one
 * slot, so that is each allocation. As GC.stress does, a GC marks everything and sweeps at once.
 */
#include "gc/book/state.h"

uint32_t rb_heapprof_stress;    /* a GC after so many allocations; 0: none */
static uint32_t stress_left;    /* until the next one; under the lock of the one who allocates */

HEAPPROF_COLD static void
rb_heapprof_stress_miss(rb_objspace_t *objspace, bool vm_locked)
{
    unsigned int lev = 0;

    if (stress_left > 1) {
        stress_left--;
        return;
    }
    stress_left = rb_heapprof_stress;
    if (dont_gc_val() || during_gc) return;
    if (!vm_locked) lev = rb_gc_cr_lock();
    garbage_collect(objspace, GPR_FLAG_NEWOBJ | GPR_FLAG_FULL_MARK | GPR_FLAG_IMMEDIATE_MARK |
                                  GPR_FLAG_IMMEDIATE_SWEEP);
    if (!vm_locked) rb_gc_cr_unlock(lev);
}
