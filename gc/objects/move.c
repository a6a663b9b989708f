/* move.c - compaction: what the profiler knows about an object follows it to its new slot, as
 * mail follows a change of address. Compiled inside gc.c. The flag bit is copied with the
 * object.
 *
 * In GC, or in the signal handler of the read barrier, which moves an object back by the same
 * way. Changes keys in place; asks for no memory.
 *
 * MRI calls this before it copies the object. From the end of the change until then the table
 * names a slot that is still empty; a reader outside can see that.
 */
#include "gc/book/track.h"

HEAPPROF_COLD static void
rb_heapprof_move(VALUE from, VALUE to)
{
    struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;
    struct heapprof_address_table *identities = &rb_heapprof.tables.identities.addresses;
    struct heapprof_page *from_page = page_of(from), *to_page = page_of(to);
    uint32_t entry;

    begin_change();
    if ((entry = rb_heapprof_address_table_find(live, from)) != 0) {
        rb_heapprof_address_table_move(live, entry, &from_page->samples, &to_page->samples, to);
        struct heapprof_sample *sample =
            rb_heapprof_live_table_sample(&rb_heapprof.tables.live, entry);
        double more = (double)GET_HEAP_PAGE(to)->slot_size - (double)sample->slot_bytes;
        if (rb_heapprof.tables.sites.object_sums.kept)
            rb_heapprof_sums_change(&rb_heapprof.tables.sites.object_sums, sample->site, 0,
                                    more * (double)sample->weight);
        sample->slot_bytes = (uint16_t)GET_HEAP_PAGE(to)->slot_size;
    }
    if ((entry = rb_heapprof_address_table_find(identities, from)) != 0) {
        rb_heapprof_address_table_move(identities, entry, &from_page->identities,
                                       &to_page->identities, to);
    }
    end_change();
}
