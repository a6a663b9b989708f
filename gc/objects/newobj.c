/* newobj.c - takes a sample of an object. A gate in the queue of free slots is closed just
 * before the slot to sample, so that nobody has to count the slots before it. Compiled inside
 * gc.c.
 *
 * When a ractor takes a page's free list, the list is cut before the slot in which the next
 * sample falls:
 *
 *     freelist -> o -> o -> o -> NULL      skip_slots slots that nobody has to look at
 *     rest     -> X -> o -> o -> o -> NULL X is the sample
 *
 * The allocation path finds the list empty there. It misses, as it does at the end of a page,
 * and comes here. After X the rest is cut again, or becomes the list if the next sample lies
 * beyond it. At each GC both lists go back to their page and the gaps are drawn anew. Gaps have
 * no memory, and whether a GC comes does not depend on where a sample would have been: so this
 * is no bias.
 *
 * At the miss the object has neither class nor flags: the caller writes them next. So the
 * sample waits in the ractor as pending. It is resolved by the ractor's next sample, or when
 * marking has ended, whichever comes first. Only the sweep after that could free its object.
 *
 * The interval may change because memory is refused. The ractor goes on with the gaps it has
 * until it takes a page or a sample. That sample has the weight of the interval that its gap
 * was drawn at.
 *
 *   I1  rest != NULL only while the profiler is on.
 *   I2  rest lies on using_page.
 *   I3  a ractor has one pending sample at most, whose stack is held.
 *
 * No xmalloc, no Ruby allocation, no raise, nothing that may start a GC. Under the VM lock, or
 * with all ractors stopped.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#include "base/check.h"
#include "gc/book/room.h"
#include "gc/book/track.h"

STATIC_ASSERT(heapprof_heaps, HEAPPROF_HEAPS == HEAP_COUNT);

/* ---- known sites ---- */

/* The site of a stack and a class, by the class pointer in the object. */
struct known_site {
    VALUE    klass;
    uint32_t stack;
    uint32_t class_id;
    uint32_t site;
    uint64_t age;  /* void unless it is known_sites_age() */
};

static struct {
    struct known_site all[256]; /* a power of two */
    uint64_t age;
} known_sites;

/* After a GC another class may be at an address, or a class may have another identity. */
HEAPPROF_COLD static void
forget_known_sites(void)
{
    known_sites.age++;
}

/* The edition of numbers is part of the age. Both only grow, so their sum is never the same
 * again. */
HEAPPROF_PART static uint64_t
known_sites_age(void)
{
    return known_sites.age + rb_heapprof_numbers_edition;
}

/* Returns false for internal objects and for classes: their label does not follow from their class
 * pointer. */
HEAPPROF_PART static bool
by_class_p(VALUE object)
{
    const unsigned int others = 1u << T_IMEMO | 1u << T_ICLASS | 1u << T_NODE | 1u << T_CLASS;
    return !(others >> RB_BUILTIN_TYPE(object) & 1) && RBASIC_CLASS(object);
}

HEAPPROF_COLD static uint32_t
find_object_site(uint32_t stack, VALUE object, struct known_site *known, bool by_class)
{
    bool of_class;
    uint32_t class_id = label_of(object, &of_class);
    if (class_id == 0) return 0;
    uint32_t site = rb_heapprof_sites_intern(&rb_heapprof.tables.sites, stack, class_id);
    if (site && by_class && of_class) {
        *known =
            (struct known_site){ RBASIC_CLASS(object), stack, class_id, site, known_sites_age() };
    }
    return site;
}

/* Returns 0 when memory is refused. Checks the cached site against the table: its number may
 * have been reused. */
HEAPPROF_PART static uint32_t
site_of(uint32_t stack, VALUE object)
{
    const struct heapprof_sites *sites = &rb_heapprof.tables.sites;
    VALUE klass = RBASIC(object)->klass;
    struct known_site *known =
        &known_sites.all[((klass >> 4) + stack * 7) & (numberof(known_sites.all) - 1)];
    bool by_class = by_class_p(object);

    if (by_class && known->klass == klass && known->stack == stack &&
        known->age == known_sites_age() && known->site < sites->numbers.end) {
        const struct heapprof_site *site = rb_heapprof_sites_get(sites, known->site);
        if (site->used && site->stack == stack && site->class_id == known->class_id)
            return known->site;
    }
    return find_object_site(stack, object, known, by_class);
}

/* ---- pending samples ---- */

HEAPPROF_COLD static void
pending_drop(struct heapprof_pending *pending)
{
    rb_heapprof.account.dropped++;
    rb_heapprof_stacks_unhold(&rb_heapprof.tables.stacks, pending->stack);
    pending->object = 0;
}

HEAPPROF_PART static bool
pending_enter(const struct heapprof_pending *pending)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t site = site_of(pending->stack, pending->object);
    if (site == 0) return false;

    struct heapprof_sample sample = {
        .site = site,
        .birth_gc = pending->birth_gc,
        .weight = pending->weight,
        .birth_bytes = (uint16_t)pending->size_bytes,
        .slot_bytes = (uint16_t)pending->size_bytes,
    };
    if (!track_sample(pending->object, &sample)) return false;
    rb_heapprof_sites_count_alloc(&tables->sites, site, pending->weight, pending->size_bytes);
    return true;
}

HEAPPROF_COLD static bool
pending_entered_p(const struct heapprof_pending *pending)
{
    while (!pending_enter(pending)) {
        if (!rb_heapprof_gc_make_room()) return false;
    }
    return true;
}

HEAPPROF_COLD static void
pending_resolve(struct heapprof_pending *pending)
{
    if (!pending->object) return;

    /* T_NONE: the allocation was given up after the slot had been taken. */
    if (RB_BUILTIN_TYPE(pending->object) == T_NONE || !pending_entered_p(pending)) {
        pending_drop(pending);
        return;
    }
    rb_heapprof_stacks_unhold(&rb_heapprof.tables.stacks, pending->stack);
    pending->object = 0;
}

HEAPPROF_PART static void
pending_set(struct heapprof_ractor *ractor, rb_objspace_t *objspace, VALUE object, size_t heap_idx,
            uint64_t interval_bytes)
{
    pending_resolve(&ractor->pending);
    follow_samples();
    rb_heapprof.account.total_samples++;

    uint32_t stack = capture_stack();
    if (stack == HEAPPROF_NO_STACK) {
        rb_heapprof.account.dropped++;
        return;
    }
    rb_heapprof_stacks_hold(&rb_heapprof.tables.stacks, stack);
    size_t slot_size = heaps[heap_idx].slot_size;
    ractor->pending = (struct heapprof_pending){
        .object = object,
        .stack = stack,
        .birth_gc = (uint32_t)objspace->profile.count,
        .size_bytes = (uint32_t)slot_size,
        .weight = (float)rb_heapprof_sampler_weight(interval_bytes, slot_size),
    };
}

/* ---- cutting ---- */

HEAPPROF_PART static uint64_t
draw_skip(size_t heap_idx)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return rb_heapprof_sampler_skip_slots(&rb_heapprof.sampler, heaps[heap_idx].slot_size);
}

HEAPPROF_PART static struct free_slot *
slot_next(struct free_slot *slot)
{
    rb_asan_unpoison_object((VALUE)slot, false);
    struct free_slot *next = slot->next;
    rb_asan_poison_object((VALUE)slot);
    return next;
}

HEAPPROF_PART static void
slot_set_next(struct free_slot *slot, struct free_slot *next)
{
    rb_asan_unpoison_object((VALUE)slot, true);
    slot->next = next;
    rb_asan_poison_object((VALUE)slot);
}

HEAPPROF_COLD static size_t
list_length(struct free_slot *slot)
{
    size_t length = 0;
    for (; slot; slot = slot_next(slot)) length++;
    return length;
}

/* Cuts the free list, which has that many slots, before the slot that cut->skip_slots leads to. */
HEAPPROF_PART static void
list_cut(struct heapprof_cut *cut, struct free_slot **list, size_t slots)
{
    HEAPPROF_ASSERT(list_length(*list) <= slots);
    HEAPPROF_ASSERT(cut->rest == NULL);

    if (cut->skip_slots >= slots) {
        cut->skip_slots -= slots;
        return;
    }
    if (cut->skip_slots == 0) {
        cut->rest = *list;
        *list = NULL;
    }
    else {
        struct free_slot *last = *list;
        for (uint64_t i = 1; i < cut->skip_slots && last; i++) last = slot_next(last);
        /* In a child of fork a page may count slots that another ractor's cache had. */
        if (!last || (cut->rest = slot_next(last)) == NULL) return;
        slot_set_next(last, NULL);
    }
    cut->rest_slots = slots - cut->skip_slots;
}

/* Draws the gaps of all heaps and cuts the free lists that the ractor holds. */
HEAPPROF_COLD static void
ractor_arm(rb_ractor_newobj_cache_t *cache)
{
    cache->heapprof.epoch = rb_heapprof.epoch;
    cache->heapprof.interval_bytes = rb_heapprof.sampler.interval_bytes;
    for (size_t i = 0; i < HEAP_COUNT; i++) {
        struct heapprof_cut *cut = &cache->heapprof.cuts[i];
        struct free_slot **list = &cache->heap_caches[i].freelist;

        cut->skip_slots = draw_skip(i);
        list_cut(cut, list, list_length(*list));
    }
}

/* Joins to each free list what was cut off. */
HEAPPROF_COLD static void
ractor_disarm(rb_ractor_newobj_cache_t *cache)
{
    for (size_t i = 0; i < HEAP_COUNT; i++) {
        struct heapprof_cut *cut = &cache->heapprof.cuts[i];
        struct free_slot **list = &cache->heap_caches[i].freelist;

        if (!cut->rest) continue;
        if (*list) {
            struct free_slot *last = *list;
            for (struct free_slot *next; (next = slot_next(last)) != NULL; last = next);
            slot_set_next(last, cut->rest);
        }
        else {
            *list = cut->rest;
        }
        cut->rest = NULL;
    }
    cache->heapprof.epoch = 0;
}

HEAPPROF_COLD static void
rb_heapprof_cut(struct ractor_newobj_cache *cache, size_t heap_idx, size_t slots)
{
    struct heapprof_cut *cut = &cache->heapprof.cuts[heap_idx];

    if (cache->heapprof.epoch != rb_heapprof.epoch) {
        ractor_disarm(cache);
        ractor_arm(cache);
        return;
    }
    list_cut(cut, &cache->heap_caches[heap_idx].freelist, slots);
}

/* Takes the due slot, and prepares the slots behind it for the next sample. */
HEAPPROF_PART static VALUE
take_due(rb_ractor_newobj_cache_t *cache, size_t heap_idx)
{
    struct heapprof_cut *cut = &cache->heapprof.cuts[heap_idx];
    struct free_slot *slot = cut->rest;
    struct free_slot **list = &cache->heap_caches[heap_idx].freelist;

    *list = slot_next(slot);
    cut->rest = NULL;
    if (cache->heapprof.epoch != rb_heapprof.epoch) {
        ractor_disarm(cache);
        ractor_arm(cache);
        return (VALUE)slot;
    }
    cut->skip_slots = draw_skip(heap_idx);
    list_cut(cut, list, cut->rest_slots - 1);
    return (VALUE)slot;
}

/* Incremental marking wants a step after so many slots of a ractor. */
HEAPPROF_PART static bool
step_wanted_p(rb_objspace_t *objspace, const rb_ractor_newobj_cache_t *cache)
{
    return is_incremental_marking(objspace) &&
           cache->incremental_mark_step_allocated_slots >= INCREMENTAL_MARK_STEP_ALLOCATIONS;
}

HEAPPROF_PART static bool
due_p(rb_objspace_t *objspace, const rb_ractor_newobj_cache_t *cache, size_t heap_idx)
{
    return cache->heapprof.cuts[heap_idx].rest && !cache->heap_caches[heap_idx].freelist &&
           !step_wanted_p(objspace, cache);
}

/* ---- what a sample leaves behind ---- */

/* A sample goes deeper into the stack than an allocation, and leaves its object's address
 * there. The frames of a GC may lie over these words without writing them, and mark the object:
 * sampled objects would live longer than the rest. A sample uses half a KB of stack, and 2.4 KB
 * if it finds a name. So 2 KB are cleared, or 4: words that other calls left there are cleared,
 * too (test_move.rb would see them). */
HEAPPROF_COLD static void
clear_dead_stack(bool deep)
{
    static void *(*const volatile fill)(void *, int, size_t) =
        memset; /* gcc would leave a plain memset out */
    char room[4096];

    if (deep) fill(room, 0, sizeof(room));
    else fill(room + sizeof(room) - 2048, 0, 2048);
}

/* ---- the sample ---- */

HEAPPROF_PART static bool
take_own_object(void)
{
    bool own = heapprof_thread.own_object;
    heapprof_thread.own_object = false;
    return own;
}

HEAPPROF_COLD void
rb_heapprof_gc_own_object(bool next)
{
    heapprof_thread.own_object = next;
}

/* *deep: whether it has used much of the stack. */
HEAPPROF_COLD static VALUE
sample_newobj(rb_objspace_t *objspace, struct heapprof_ractor *ractor, size_t heap_idx, bool *deep)
{
    rb_ractor_newobj_cache_t *cache =
        (void *)((char *)ractor - offsetof(rb_ractor_newobj_cache_t, heapprof));
    VALUE object = Qfalse;

    if (stack_low_p(GET_EC()) && !on_signal_stack_p()) probe_stack();
    unsigned int lev = rb_gc_vm_lock();

    /* Ask under the lock. While this thread waited for it, a GC may have taken the list back,
     * or a stop may have joined it. */
    if (due_p(objspace, cache, heap_idx)) {
        uint64_t interval_bytes = ractor->interval_bytes; /* at which its gap was drawn */
        object = take_due(cache, heap_idx);
        rb_asan_unpoison_object(object, true);
        if (!take_own_object() && !heapprof_thread.own_work) {
            begin_change();
            pending_set(ractor, objspace, object, heap_idx, interval_bytes);
            end_change();
        }
        if (is_incremental_marking(objspace)) cache->incremental_mark_step_allocated_slots++;
#if RGENGC_CHECK_MODE
        MEMZERO((char *)object, char, heap_slot_size(heap_idx));
#endif
    }
    else if (!step_wanted_p(objspace, cache)) {
        object = ractor_cache_allocate_slot(objspace, cache, heap_idx);
    }
    *deep = rb_heapprof.work.went_deep;
    rb_heapprof.work.went_deep = false;
    rb_gc_vm_unlock(lev);
    return object;
}

/* Has a small frame of its own, so that all that lies below it is cleared. */
HEAPPROF_COLD static VALUE
rb_heapprof_newobj(rb_objspace_t *objspace, struct heapprof_ractor *ractor, size_t heap_idx)
{
    bool deep;
    VALUE object = sample_newobj(objspace, ractor, heap_idx, &deep);
    clear_dead_stack(deep);
    return object;
}

/* ---- at each GC ---- */

/* Called for each ractor at each GC, and when a ractor ends between two GCs. */
HEAPPROF_COLD static void
note_major(const rb_objspace_t *objspace)
{
    uint64_t *majors = rb_heapprof.account.majors;

    if (!is_full_marking(objspace) || majors[0] == objspace->profile.count) return;
    memmove(&majors[1], &majors[0], (HEAPPROF_SURVIVED_MAJORS - 1) * sizeof(*majors));
    majors[0] = objspace->profile.count;
    refine();
}

/* ---- for run.c: each ractor ---- */

HEAPPROF_COLD static void
cache_start_i(void *cache, void *unused)
{
    ractor_arm(cache);
}

HEAPPROF_COLD static void
cache_redraw_i(void *cache, void *unused)
{
    ractor_disarm(cache);
    ractor_arm(cache);
}

HEAPPROF_COLD static void
cache_stop_i(void *cache, void *unused)
{
    rb_ractor_newobj_cache_t *ractor_cache = cache;
    ractor_disarm(ractor_cache);
    ractor_cache->heapprof.pending.object = 0;
}

/* Looks for the object among the pending samples. */
struct stack_search {
    VALUE    object;
    uint32_t stack;
};

HEAPPROF_COLD static void
cache_stack_i(void *cache, void *data)
{
    const struct heapprof_pending *pending = &((rb_ractor_newobj_cache_t *)cache)->heapprof.pending;
    struct stack_search *search = data;

    if (pending->object == search->object) search->stack = pending->stack;
}

HEAPPROF_COLD static void
cache_resolve_i(void *cache, void *unused)
{
    pending_resolve(&((rb_ractor_newobj_cache_t *)cache)->heapprof.pending);
}

HEAPPROF_COLD uint32_t
rb_heapprof_gc_stack_of(VALUE object)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t entry =
        rb_heapprof_on ? rb_heapprof_address_table_find(&tables->live.addresses, object) : 0;
    struct stack_search search = { .object = object };

    if (entry) {
        uint32_t site = rb_heapprof_live_table_sample(&tables->live, entry)->site;
        return rb_heapprof_sites_get(&tables->sites, site)->stack;
    }
    if (rb_heapprof_on) rb_gc_ractor_newobj_cache_foreach(cache_stack_i, &search);
    return search.stack;
}
