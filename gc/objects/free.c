/* free.c - the death of what the profiler knows. A page is asked once for its dead, just before
 * it is swept; nobody asks at each grave. Compiled inside gc.c.
 *
 * Each object on the page's chains that has no mark bit is about to be freed, or to become a
 * zombie (a sample dies with its object, not with the object's finalizer). So the sweep of an
 * object costs nothing, and the sweep of a page without samples costs one test.
 *
 * A chain of a few entries is walked. On a page with more, live samples must not cost anything,
 * or each minor GC would take time in proportion to all live samples. So the slots without a
 * mark bit are asked for their flag instead, which the sweep is about to read anyway.
 *
 *     mark bits   1 1 1 0 1 1 1 1 | 1 1 1 1 1 1 1 1 | ...      a word at a time
 *                       ^ flag?     nothing to do
 *
 * Samples that were taken since the last GC are young, and on no page's chain. All of them are
 * judged when marking has ended, before the first page is swept: the dead go at once, and the rest
 * go to their pages.
 *
 * In GC. Only removes entries of tables: no memory is asked for or given back.
 */
#include "gc/book/track.h"

STATIC_ASSERT(strides_divide_a_word, 1 << (HEAP_COUNT - 1) < BITS_BITLENGTH &&
                                         BITS_BITLENGTH % (1 << (HEAP_COUNT - 1)) == 0);

enum { FEW = 32 }; /* on a page of small slots, with one in fifty a sample */

HEAPPROF_PART static inline bool
dead_p(struct heap_page *page, VALUE object)
{
    return !MARKED_IN_BITMAP(page->mark_bits, object);
}

/* The last GC that the dead of this page have survived. */
static uint32_t swept_last_gc;

HEAPPROF_COLD static void
sample_dies(struct heap_page *page, uint32_t entry)
{
    struct heapprof_live_table *live = &rb_heapprof.tables.live;

    rb_heapprof_sites_count_death(&rb_heapprof.tables.sites,
                                  rb_heapprof_live_table_sample(live, entry), swept_last_gc);
    rb_heapprof_address_table_remove(&live->addresses, &page->heapprof.samples, entry);
}

HEAPPROF_COLD static void
identity_dies(struct heap_page *page, uint32_t entry)
{
    rb_heapprof_identities_died(&rb_heapprof.tables.identities, &page->heapprof.identities, entry);
}

/* Returns false if the chain has more than a few entries. Then the rest was not looked at. */
HEAPPROF_COLD static bool
sweep_chain(struct heap_page *page, const struct heapprof_address_table *table, uint32_t head,
            void (*dies)(struct heap_page *page, uint32_t entry))
{
    int left = FEW;

    for (uint32_t entry = head, next; entry; entry = next) {
        if (left-- == 0) return false;
        next = rb_heapprof_address_table_next(table, entry);
        if (dead_p(page, rb_heapprof_address_table_address(table, entry))) dies(page, entry);
    }
    return true;
}

HEAPPROF_COLD static void
object_dies(struct heap_page *page, VALUE object)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t sample = rb_heapprof_address_table_find(&tables->live.addresses, object);

    if (sample) sample_dies(page, sample);
    if (!page->heapprof.identities) return; /* as on most pages */
    uint32_t identity = rb_heapprof_address_table_find(&tables->identities.addresses, object);
    if (identity) identity_dies(page, identity);
}

/* Looks at the slots whose bit is in unmarked. The first bit stands for place. */
HEAPPROF_COLD static void
sweep_unmarked(struct heap_page *page, VALUE place, bits_t unmarked)
{
    for (; unmarked; unmarked &= unmarked - 1) {
        VALUE object = place + (VALUE)ntz_intptr(unmarked) * BASE_SLOT_SIZE;
        asan_unpoisoning_object(object) {
            if (RB_FL_TEST_RAW(object, HEAPPROF_FLAG)) object_dies(page, object);
        }
    }
}

/* A slot has the bit of its first BASE_SLOT_SIZE bytes. It begins at a multiple of its size. */
HEAPPROF_COLD static void
sweep_slots(struct heap_page *page)
{
    size_t stride = page->slot_size / BASE_SLOT_SIZE;
    size_t first = NUM_IN_PAGE(page->start), end = first + page->total_slots * stride;
    bits_t slots = ~(bits_t)0 / (((bits_t)1 << stride) - 1); /* every stride-th bit */

    HEAPPROF_ASSERT(stride < BITS_BITLENGTH && BITS_BITLENGTH % stride == 0 && first % stride == 0);
    for (size_t bit = first / BITS_BITLENGTH * BITS_BITLENGTH; bit < end; bit += BITS_BITLENGTH) {
        bits_t unmarked = slots & ~page->mark_bits[bit / BITS_BITLENGTH];
        if (!unmarked) continue;
        if (bit < first) unmarked &= ~(bits_t)0 << (first - bit);
        if (end - bit < BITS_BITLENGTH) unmarked &= ((bits_t)1 << (end - bit)) - 1;
        sweep_unmarked(page, page->start + (bit - first) * BASE_SLOT_SIZE, unmarked);
    }
}

HEAPPROF_COLD static void
rb_heapprof_sweep(struct heap_page *page)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;
    const struct heapprof_page *known = &page->heapprof;

    begin_change();
    swept_last_gc = last_gc_now();
    page_being_swept = page;
    if (!sweep_chain(page, &tables->live.addresses, known->samples, sample_dies) ||
        !sweep_chain(page, &tables->identities.addresses, known->identities, identity_dies)) {
        sweep_slots(page);
    }
    page_being_swept = NULL;
    end_change();
}

/* ---- the young ---- */

/* The last GC whose marks have judged the young. */
static uint64_t young_judged_gc;

HEAPPROF_COLD static void
settle_young(void)
{
    const struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;
    while (live->young) settle_sample(live->young);
}

HEAPPROF_COLD static void
judge_young(void)
{
    struct heapprof_live_table *live = &rb_heapprof.tables.live;
    uint32_t last_gc = last_gc_now();
    uint32_t entry;

    while ((entry = live->addresses.young) != 0) {
        VALUE object = rb_heapprof_address_table_address(&live->addresses, entry);
        if (!dead_p(GET_HEAP_PAGE(object), object)) {
            settle_sample(entry);
            continue;
        }
        const struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
        HEAPPROF_ASSERT((int32_t)(last_gc - sample->birth_gc) <= 0);
        rb_heapprof_sites_count_young_death(&rb_heapprof.tables.sites, sample);
        rb_heapprof_address_table_remove_young(&live->addresses);
    }
}

/* Marking has ended; pages are about to be swept. Called for each ractor, whose last sample is
 * young now. The first call judges. The few that come later are found by the sweep, and so are all
 * if the sweep is to find the dead. */
HEAPPROF_COLD static void
young_marked(const rb_objspace_t *objspace, bool sweep_finds)
{
    if (young_judged_gc != objspace->profile.count && !sweep_finds) judge_young();
    else settle_young();
    young_judged_gc = objspace->profile.count;
}
