/* track.c - the objects that the profiler knows: flag bit, page chains, identities. Each page
 * of the heap has a list of its known guests. Compiled inside gc.c.
 *
 *     object --flag--> address table entry <--chain-- struct heap_page
 *
 * Most samples die before the first GC. So a sample is young until then (base/address_table.h): it
 * has no flag and is on no page's chain. When marking has ended, the dead among the young go, and
 * the rest are settled (gc/objects/free.c). Until then no object is swept, and none moves, so
 * nobody asks for a young sample by its page or by its address.
 *
 *   I1  an object has HEAPPROF_FLAG exactly if its address is in the live table, and not young, or
 *       among the identities. There is one exception: a race of forget_sample among Ractors.
 *   I2  an object's entry is in the chain of the page that the object is on, unless it is young.
 *   I3  an object whose sample is young was born after the last marking.
 *
 * Nothing here keeps an object alive: there is no root and no mark. The sweep of a page asks
 * that page's chains (gc/objects/free.c). Compaction rekeys the entries (gc/objects/move.c).
 *
 * Nothing here allocates Ruby objects, raises, or may start a GC.
 */
#include "gc/book/track.h"

STATIC_ASSERT(the_flag_is_nobodys,
              HEAPPROF_FLAG < 1 << RUBY_FL_USHIFT &&
                  !(HEAPPROF_FLAG &
                    (RUBY_T_MASK | RUBY_FL_WB_PROTECTED | RUBY_FL_PROMOTED | RUBY_FL_FINALIZE |
                     RUBY_FL_SHAREABLE | RUBY_FL_SEEN_OBJ_ID | RUBY_FL_EXIVAR | RUBY_FL_FREEZE)));
STATIC_ASSERT(slots_fit_their_field, BASE_SLOT_SIZE << (HEAP_COUNT - 1) <= UINT16_MAX);

HEAPPROF_COLD static struct heapprof_page *
page_of(VALUE object)
{
    return &GET_HEAP_PAGE(object)->heapprof;
}

HEAPPROF_PART static bool
track_sample(VALUE object, const struct heapprof_sample *sample)
{
    return rb_heapprof_live_table_add_young(&rb_heapprof.tables.live, object, sample) != 0;
}

HEAPPROF_COLD static void
settle_sample(uint32_t entry)
{
    struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;
    VALUE object = rb_heapprof_address_table_address(live, entry);

    rb_heapprof_address_table_settle(live, &page_of(object)->samples, entry);
    RB_FL_SET_RAW(object, HEAPPROF_FLAG);
}

HEAPPROF_COLD static uint32_t
find_sample(VALUE object)
{
    const struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;
    uint32_t entry = rb_heapprof_address_table_find(live, object);

    if (entry) return entry;
    for (entry = live->young; entry; entry = rb_heapprof_address_table_next(live, entry)) {
        if (rb_heapprof_address_table_address(live, entry) == object) break;
    }
    return entry;
}

/* A callback for thinning: the head of the chain of a sample's page. */
HEAPPROF_COLD static uint32_t *
samples_of_page(uintptr_t object)
{
    return &page_of((VALUE)object)->samples;
}

/* Another ractor may be writing other flags of the object, and not atomically. Then the bit may
 * come back, and stands for nothing. */
HEAPPROF_COLD static void
clear_flag(uintptr_t object)
{
    __atomic_fetch_and(&RBASIC((VALUE)object)->flags, ~(VALUE)HEAPPROF_FLAG, __ATOMIC_RELAXED);
}

/* A callback for thinning: the object is a sample no more. */
HEAPPROF_COLD static void
forget_sample(uintptr_t object)
{
    if (!rb_heapprof_identities_find(&rb_heapprof.tables.identities, object)) clear_flag(object);
}

/* The head of the chain that an identity is on. Keys that are not objects are on no page. */
HEAPPROF_COLD static uint32_t *
identities_of_page(uintptr_t key)
{
    return rb_heapprof_object_key_p(key) ? &page_of((VALUE)key)->identities
                                         : &rb_heapprof.tables.identities.elsewhere;
}

/* The same as forget_sample, for identities that nobody needs. */
HEAPPROF_COLD static void
forget_identity(uintptr_t key)
{
    if (!rb_heapprof_object_key_p(key)) return;
    if (!rb_heapprof_address_table_find(&rb_heapprof.tables.live.addresses, key)) clear_flag(key);
}

static const struct heapprof_letting_go letting_go = {
    .page_head = identities_of_page, .forget = forget_identity
};

HEAPPROF_COLD uint32_t
rb_heapprof_gc_identify(VALUE object)
{
    struct heapprof_identities *identities = &rb_heapprof.tables.identities;

    uint32_t id = rb_heapprof_identities_find(identities, object);

    if (id) return id;
    id = rb_heapprof_identities_add(identities, &page_of(object)->identities, object);
    if (id) RB_FL_SET_RAW(object, HEAPPROF_FLAG);
    return id;
}

/* ---- stop ---- */

HEAPPROF_COLD static void
untrack_table(const struct heapprof_address_table *table)
{
    for (uint32_t entry = 1; entry < table->numbers.end; entry++) {
        VALUE object = rb_heapprof_address_table_address(table, entry);
        if (!rb_heapprof_object_key_p(object)) continue; /* or the entry is free */
        page_of(object)->samples = page_of(object)->identities = 0;
        RB_FL_UNSET_RAW(object, HEAPPROF_FLAG);
    }
}

HEAPPROF_COLD static void
untrack_all(void)
{
    untrack_table(&rb_heapprof.tables.live.addresses);
    untrack_table(&rb_heapprof.tables.identities.addresses);
}

HEAPPROF_COLD bool
rb_heapprof_gc_gone_p(uintptr_t address, void *unused)
{
    return rb_gc_impl_garbage_object_p(rb_gc_get_objspace(), (VALUE)address);
}

/* A GC that was sweeping had ended its marking. Objects that a later GC finds dead were alive. */
static struct {
    bool     sweeping;
    uint64_t gc_count;
} gone_as_of;

/* The page whose samples die. Its flag does not say any more that it is not swept. */
static const struct heap_page *page_being_swept;

HEAPPROF_COLD void
rb_heapprof_gc_note_gone(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    gone_as_of.sweeping = is_lazy_sweeping(objspace);
    gone_as_of.gc_count = objspace->profile.count;
}

HEAPPROF_COLD bool
rb_heapprof_gc_was_gone_p(uintptr_t address, void *unused)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (!gone_as_of.sweeping || gone_as_of.gc_count != objspace->profile.count) return false;
    if (GET_HEAP_PAGE(address) == page_being_swept)
        return !MARKED_IN_BITMAP(page_being_swept->mark_bits, address);
    return rb_gc_impl_garbage_object_p(objspace, (VALUE)address);
}

HEAPPROF_COLD size_t
rb_heapprof_gc_memsize(uintptr_t address, void *unused)
{
    return rb_obj_memsize_of((VALUE)address);
}
