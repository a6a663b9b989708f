/* free_list.c - where the next sample falls: a gate in the queue of free slots is closed just
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
 * and newobj.c asks here. After X the rest is cut again, or becomes the list if the next sample
 * lies beyond it. At each GC both lists go back to their page and the gaps are drawn anew. Gaps
 * have no memory, and whether a GC comes does not depend on where a sample would have been: so
 * this is no bias.
 *
 * The interval may change because memory is refused. The ractor goes on with the gaps it has
 * until it takes a page or a sample. That sample has the weight of the interval that its gap
 * was drawn at.
 *
 * This file, and the gates and structs in hooks.h, are all that knows how MRI hands out slots.
 * Everyone else uses gaps_arm, gaps_disarm and gaps_take, which name no free list.
 *
 *   I1  rest != NULL only while the profiler is on.
 *   I2  rest lies on using_page.
 *
 * No xmalloc, no Ruby allocation, no raise, nothing that may start a GC. Under the VM lock, or
 * with all ractors stopped.
 */
#include "gc/book/state.h"
#include "base/check.h"

STATIC_ASSERT(heapprof_heaps, HEAPPROF_HEAPS == HEAP_COUNT);
STATIC_ASSERT(a_free_slot_is_a_link, offsetof(struct free_slot, next) == sizeof(VALUE) &&
                                         sizeof(struct free_slot) <= BASE_SLOT_SIZE);

HEAPPROF_PART static uint64_t
draw_skip(size_t heap_idx)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return rb_heapprof_sampler_skip_slots(&rb_heapprof.sampler, heaps[heap_idx].slot_size);
}

HEAPPROF_PART static float
weight_of_slot(size_t heap_idx)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return (float)rb_heapprof_sampler_weight(rb_heapprof.sampler.interval_bytes,
                                             heaps[heap_idx].slot_size);
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

/* The slot so many links behind that one. NULL if the list ends before: in a child of fork a page
 * may count slots that another ractor's cache had. Eight links at a time, for at 1 % of the objects
 * this is what a sample costs most. */
HEAPPROF_PART static struct free_slot *
slot_behind(struct free_slot *slot, uint64_t links)
{
    for (; slot && links >= 8; links -= 8) {
        if (!(slot = slot_next(slot)) || !(slot = slot_next(slot)) || !(slot = slot_next(slot)) ||
            !(slot = slot_next(slot)) || !(slot = slot_next(slot)) || !(slot = slot_next(slot)) ||
            !(slot = slot_next(slot)) || !(slot = slot_next(slot))) return NULL;
    }
    while (links-- > 0 && slot) slot = slot_next(slot);
    return slot;
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
        struct free_slot *last = slot_behind(*list, cut->skip_slots - 1);
        if (!last || (cut->rest = slot_next(last)) == NULL) return;
        slot_set_next(last, NULL);
    }
    cut->rest_slots = slots - cut->skip_slots;
}

/* Draws the gaps of all heaps and cuts the free lists that the ractor holds. The list of heap_idx
 * is `slots` long. The other lists are counted here. */
HEAPPROF_COLD static void
gaps_arm_counted(rb_ractor_newobj_cache_t *cache, size_t heap_idx, size_t slots)
{
    cache->heapprof.epoch = rb_heapprof.epoch;
    for (size_t i = 0; i < HEAP_COUNT; i++) {
        struct heapprof_cut *cut = &cache->heapprof.cuts[i];
        struct free_slot **list = &cache->heap_caches[i].freelist;

        cut->weight = weight_of_slot(i);
        cut->skip_slots = draw_skip(i);
        list_cut(cut, list, i == heap_idx ? slots : list_length(*list));
    }
}

HEAPPROF_COLD static void
gaps_arm(rb_ractor_newobj_cache_t *cache)
{
    gaps_arm_counted(cache, 0, list_length(cache->heap_caches[0].freelist));
}

/* Joins to each free list what was cut off. */
HEAPPROF_COLD static void
gaps_disarm(rb_ractor_newobj_cache_t *cache)
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
        gaps_disarm(cache);
        gaps_arm_counted(cache, heap_idx, slots);
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
        gaps_disarm(cache);
        gaps_arm(cache);
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

/* A miss: takes the slot, if it is the sample that was due (*due). Otherwise a GC has taken the
 * list back while this thread waited for the lock, or a stop has joined it: then takes any slot.
 * Returns Qfalse if there is none, or if incremental marking wants a step first. */
HEAPPROF_PART static VALUE
gaps_take(rb_objspace_t *objspace, rb_ractor_newobj_cache_t *cache, size_t heap_idx, bool *due)
{
    *due = due_p(objspace, cache, heap_idx);
    if (*due) {
        VALUE object = take_due(cache, heap_idx);
        rb_asan_unpoison_object(object, true);
        if (is_incremental_marking(objspace)) cache->incremental_mark_step_allocated_slots++;
        return object;
    }
    return step_wanted_p(objspace, cache)
               ? Qfalse
               : ractor_cache_allocate_slot(objspace, cache, heap_idx);
}
