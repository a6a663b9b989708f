/* newobj.c - takes a sample of an object, at the miss that free_list.c has prepared. Compiled
 * inside gc.c.
 *
 * At the miss the object has neither class nor flags: the caller writes them next. So the sample
 * waits in the ractor as pending. It is resolved by the ractor's next sample, or when marking has
 * ended, whichever comes first. Only the sweep after that could free its object.
 *
 *   I1  a ractor has one pending sample at most, whose stack is held.
 *
 * No xmalloc, no Ruby allocation, no raise, nothing that may start a GC. Under the VM lock, or
 * with all ractors stopped.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#include "base/check.h"
#include "gc/book/room.h"
#include "gc/book/track.h"

STATIC_ASSERT(types_fit_a_word, RUBY_T_MASK < 32);

/* ---- known sites ---- */

/* The site of a stack, labels and a class, by the class pointer in the object. */
struct known_site {
    VALUE    klass;
    uint32_t stack;
    uint32_t label;
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

/* Another run counts the editions of its sites anew. */
HEAPPROF_COLD static void
clear_known_sites(void)
{
    memset(&known_sites, 0, sizeof(known_sites));
}

/* The editions of numbers and of sites are part of the age. All three only grow, so their sum is
 * never the same again while a run lasts. */
HEAPPROF_PART static uint64_t
known_sites_age(void)
{
    return known_sites.age + rb_heapprof_numbers_edition + rb_heapprof.tables.sites.edition;
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
find_object_site(uint32_t stack, uint32_t label, VALUE object, struct known_site *known,
                 bool by_class)
{
    bool of_class;

    rb_heapprof.work.stack_used |= HEAPPROF_STACK_WALKED;
    uint32_t class_id = label_of(object, &of_class);
    if (class_id == 0) return 0;
    uint32_t site = rb_heapprof_sites_intern(&rb_heapprof.tables.sites, stack, class_id, label);
    if (site && by_class && of_class) {
        *known = (struct known_site){ RBASIC_CLASS(object), stack, label, site,
                                      known_sites_age() };
    }
    return site;
}

/* Returns 0 when memory is refused. */
HEAPPROF_PART static uint32_t
site_of(uint32_t stack, uint32_t label, VALUE object)
{
    VALUE klass = RBASIC(object)->klass;
    struct known_site *known =
        &known_sites.all[((klass >> 4) + stack * 7 + label) & (numberof(known_sites.all) - 1)];
    bool by_class = by_class_p(object);

    if (by_class && known->klass == klass && known->stack == stack && known->label == label &&
        known->age == known_sites_age()) {
        HEAPPROF_ASSERT(find_object_site(stack, label, object, known, true) == known->site);
        return known->site;
    }
    return find_object_site(stack, label, object, known, by_class);
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
    uint32_t site = site_of(pending->stack, pending->label, pending->object);
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
            float weight)
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
    ractor->pending = (struct heapprof_pending){
        .object = object,
        .stack = stack,
        .birth_gc = (uint32_t)objspace->profile.count,
        .size_bytes = (uint32_t)heaps[heap_idx].slot_size,
        .weight = weight,
        .label = current_label(),
    };
}

/* ---- what a sample leaves behind ---- */

/* A sample goes deeper into the stack than an allocation, and leaves its object's address
 * there. The frames of a GC may lie over these words without writing them, and mark the object:
 * sampled objects would live longer than the rest. So these words are cleared. A sample of which
 * all is known takes 250 bytes of stack, and 600 when a table grows. One that walks the stack, or
 * looks up its site, takes 600, too: there, words that MRI left further down are cleared as well.
 * One that finds a name takes 2.5 KB. */
enum { DEEPEST_BYTES = 4096 };

static const uint16_t cleared_bytes[] = {
    640, [HEAPPROF_STACK_WALKED] = 2048, [HEAPPROF_STACK_NAMED] = DEEPEST_BYTES,
    [HEAPPROF_STACK_WALKED | HEAPPROF_STACK_NAMED] = DEEPEST_BYTES
};

HEAPPROF_COLD static void
clear_dead_stack(size_t used_bytes)
{
    static void *(*const volatile fill)(void *, int, size_t) =
        memset; /* gcc would leave a plain memset out */
    char room[DEEPEST_BYTES];

    fill(room + sizeof(room) - used_bytes, 0, used_bytes);
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

/* *used_bytes: how much of the stack it may have used; 0: there was no room for a sample. */
HEAPPROF_COLD static VALUE
sample_newobj(rb_objspace_t *objspace, struct heapprof_ractor *ractor, size_t heap_idx,
              size_t *used_bytes)
{
    rb_ractor_newobj_cache_t *cache =
        (void *)((char *)ractor - offsetof(rb_ractor_newobj_cache_t, heapprof));
    VALUE object;
    bool due;

    bool room = room_on_stack_p(GET_EC(), true);
    unsigned int lev = rb_gc_vm_lock();
    float weight = ractor->cuts[heap_idx].weight; /* which its gap was drawn with */

    /* Asked under the lock, for the list may have changed while this thread waited for it. */
    object = gaps_take(objspace, cache, heap_idx, &due);
    if (due) {
        if (!take_own_object() && !heapprof_thread.own_work) {
            if (room) {
                begin_change();
                pending_set(ractor, objspace, object, heap_idx, weight);
                end_change();
            }
            else {
                rb_heapprof.account.total_samples++;
                rb_heapprof.account.dropped++;
            }
        }
#if RGENGC_CHECK_MODE
        MEMZERO((char *)object, char, heap_slot_size(heap_idx));
#endif
    }
    *used_bytes = room ? cleared_bytes[rb_heapprof.work.stack_used] : 0;
    rb_heapprof.work.stack_used = 0;
    rb_gc_vm_unlock(lev);
    return object;
}

/* Has a small frame of its own, so that all that lies below it is cleared. */
HEAPPROF_COLD static VALUE
rb_heapprof_newobj(rb_objspace_t *objspace, struct heapprof_ractor *ractor, size_t heap_idx)
{
    size_t used_bytes;
    VALUE object = sample_newobj(objspace, ractor, heap_idx, &used_bytes);
    if (used_bytes) clear_dead_stack(used_bytes);
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
    gaps_arm(cache);
}

HEAPPROF_COLD static void
cache_redraw_i(void *cache, void *unused)
{
    gaps_disarm(cache);
    gaps_arm(cache);
}

HEAPPROF_COLD static void
cache_stop_i(void *cache, void *unused)
{
    rb_ractor_newobj_cache_t *ractor_cache = cache;
    gaps_disarm(ractor_cache);
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
    uint32_t entry = rb_heapprof_on ? find_sample(object) : 0;
    struct stack_search search = { .object = object };

    if (entry) {
        uint32_t site = rb_heapprof_live_table_sample(&tables->live, entry)->site;
        return rb_heapprof_sites_get(&tables->sites, site)->stack;
    }
    if (rb_heapprof_on) rb_gc_ractor_newobj_cache_foreach(cache_stack_i, &search);
    return search.stack;
}
