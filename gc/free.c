/* free.c - the death of what the profiler knows. Compiled inside gc.c.
 *
 * Asked once per page, before it is swept, instead of once per freed object: whatever
 * on the page's chains lacks its mark bit is about to be freed, or to become a zombie
 * (a sample dies with its object, not with the object's finalizer). So the sweep of an
 * object costs nothing, and that of a page without samples one test.
 *
 * In GC: removes table entries only; no memory is asked for or given back.
 */
#include "track.h"

HEAPPROF_COLD static bool
dead_p(struct heap_page *page, VALUE object)
{
    return !MARKED_IN_BITMAP(page->mark_bits, object);
}

HEAPPROF_COLD static void
sweep_samples(struct heap_page *page)
{
    struct heapprof_live_table *live = &rb_heapprof.tables.live;
    struct heapprof_address_table *table = &live->addresses;

    for (uint32_t entry = page->heapprof.samples, next; entry; entry = next) {
        next = rb_heapprof_address_table_next(table, entry);
        if (!dead_p(page, rb_heapprof_address_table_address(table, entry))) continue;
        rb_heapprof_sites_count_free(&rb_heapprof.tables.sites,
                                     rb_heapprof_live_table_sample(live, entry)->site);
        rb_heapprof_address_table_remove(table, &page->heapprof.samples, entry);
    }
}

HEAPPROF_COLD static void
sweep_identities(struct heap_page *page)
{
    struct heapprof_address_table *table = &rb_heapprof.tables.identities.addresses;

    for (uint32_t entry = page->heapprof.identities, next; entry; entry = next) {
        next = rb_heapprof_address_table_next(table, entry);
        if (!dead_p(page, rb_heapprof_address_table_address(table, entry))) continue;
        rb_heapprof_address_table_remove(table, &page->heapprof.identities, entry);
    }
}

HEAPPROF_COLD static void
rb_heapprof_sweep(struct heap_page *page)
{
    page_being_swept = page;
    sweep_samples(page);
    page_being_swept = NULL;
    sweep_identities(page);
}
