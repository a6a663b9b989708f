#ifndef HEAPPROF_GC_HOOKS_H
#define HEAPPROF_GC_HOOKS_H
/* hooks.h - the price list: everything that the profiler costs when it is off, and when it is on
 * but the object at hand is not sampled. The collector includes it before its own structs. The
 * patches embed heapprof_ractor and heapprof_page in these, and call the gates. README.md has the
 * map of events.
 *
 *   gate                   runs once per                    off      not sampled
 *   rb_heapprof_gate_page  page taken by a ractor           1 test   + count down slots
 *   rb_heapprof_gate_newobj miss of the free list           3 tests  3 tests
 *   rb_heapprof_gate_stress miss of the free list           1 test   1 test
 *   rb_heapprof_gate_clear ractor and GC                    1 test   redraw the gaps
 *   rb_heapprof_gate_sweep page swept                       2 tests  2 tests
 *   rb_heapprof_gate_swept_page, _finalized  page; object with a finalizer  1 test, off or on
 *   rb_heapprof_gate_added_page, _walk       new page; page walked over     1 test, off or on
 *   rb_heapprof_gate_held_p                  slot, at the end of process    1 test, off or on
 *   rb_heapprof_gate_marked_dead             dead object that is marked     1 test, off or on
 *   rb_heapprof_gate_move  object moved by compaction       1 test   1 test
 *   rb_heapprof_gate_malloc block from the allocator        subtract and test, off or on
 *   rb_heapprof_gate_realloc block about to be reallocated  add up and 2 tests
 *   rb_heapprof_gate_resized block reallocated              subtract and 2 tests
 *   rb_heapprof_gate_free  block freed, or reallocated      1 test, off or on
 *   rb_heapprof_gate_begun, _marked, _swept  GC             2 tests each, off or on
 *   rb_heapprof_gate_adjust memory reported by an extension  2 tests  + a lock
 *
 * The allocation fast path and the sweep of an object have no gate: `make
 * bench-off` counts the instructions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/internal/fl_type.h"
#include "ruby/internal/has/builtin.h"
#include "ruby/internal/special_consts.h"
#include "profiler/block_filter.h"
#include "profiler/reported.h"

struct free_slot;
struct heap_page;
struct ractor_newobj_cache;
struct rb_objspace;

/* The flag bit of an object that is known. It is in the live table, or it has an identity (an
 * iseq or a class that names come from), or both. */
#define HEAPPROF_FLAG RUBY_FL_UNUSED6

#define HEAPPROF_HEAPS 5

/* The free list of one slot size of one ractor. Its end was cut off, so that the list runs dry just
 * before the slot to sample. */
struct heapprof_cut {
    struct free_slot *rest; /* its first slot is the next sample; NULL: none is due on this page */
    size_t rest_slots;      /* length of rest */
    uint64_t skip_slots;    /* if rest is NULL: slots after this page until the next sample */
    float weight;           /* of the next sample, by the interval that its gap was drawn at */
};

/* A sample whose object has neither class nor flags yet. */
struct heapprof_pending {
    VALUE    object;     /* 0: none */
    uint32_t stack;      /* held */
    uint32_t birth_gc;
    uint32_t size_bytes;
    float    weight;
    uint32_t label;      /* string with the text of its labels; 0: none */
};

/* Part of a ractor's newobj cache. Zero, as it begins, means off. */
struct heapprof_ractor {
    struct heapprof_cut cuts[HEAPPROF_HEAPS];
    struct heapprof_pending pending;
    uint64_t epoch; /* of the profiler when its gaps were drawn; they are stale in another */
};

/* Part of struct heap_page: heads of this page's chains (base/address_table.h), and what
 * gc/quarantine knows of it. */
struct heapprof_page {
    uint32_t samples;
    uint32_t identities;
    uint32_t held;    /* which slots are held back (gc/quarantine/held.c); 0: none */
    uint16_t walkers; /* walks over all objects that are at this page */
    bool     alone;   /* its objects are each alone on a page of memory (alone.c) */
};

extern bool rb_heapprof_on; /* state.h */
extern bool rb_heapprof_clears; /* state.h */

/* Stands before every function of gc/. It keeps their code away from the collector's, and out
 * of gcc's account of how much gc.c may grow by inlining. Otherwise that runs out elsewhere,
 * and the sweep or the allocation path get another shape. */
#define HEAPPROF_COLD __attribute__((__cold__, __noinline__))

/* Stands before a function that has one caller and is a part of it. */
#define HEAPPROF_PART __attribute__((__cold__))

extern uint32_t rb_heapprof_stress; /* gc/objects/stress.c */

HEAPPROF_COLD static void
rb_heapprof_stress_miss(struct rb_objspace *objspace, bool vm_locked);

/* The free list ran dry, and nothing was done about it yet. */
static inline void
rb_heapprof_gate_stress(struct rb_objspace *objspace, bool vm_locked)
{
    if (RB_UNLIKELY(rb_heapprof_stress)) rb_heapprof_stress_miss(objspace, vm_locked);
}

HEAPPROF_COLD static VALUE
rb_heapprof_newobj(struct rb_objspace *objspace, struct heapprof_ractor *ractor, size_t heap_idx);

/* The free list ran dry. If a sample is due, it did so on purpose, and this returns the object.
 * Returns Qfalse if no sample is due, or if incremental marking wants a step first. */
static inline VALUE
rb_heapprof_gate_newobj(struct rb_objspace *objspace, struct heapprof_ractor *ractor,
                        size_t heap_idx)
{
    if (RB_UNLIKELY(ractor->cuts[heap_idx].rest)) {
        return rb_heapprof_newobj(objspace, ractor, heap_idx);
    }
    return Qfalse;
}

HEAPPROF_COLD static void
rb_heapprof_cut(struct ractor_newobj_cache *cache, size_t heap_idx, size_t slots);

/* The cache has just taken a page's free list of that many slots. */
static inline void
rb_heapprof_gate_page(struct ractor_newobj_cache *cache, size_t heap_idx, size_t slots)
{
    if (RB_UNLIKELY(rb_heapprof_on)) rb_heapprof_cut(cache, heap_idx, slots);
}

HEAPPROF_COLD static void
rb_heapprof_clear(struct ractor_newobj_cache *cache);

/* The cache's free lists are about to go back to their pages: when marking has ended, before
 * the sweep, and when the ractor ends. */
static inline void
rb_heapprof_gate_clear(struct ractor_newobj_cache *cache)
{
    if (RB_UNLIKELY(rb_heapprof_clears)) rb_heapprof_clear(cache);
}

HEAPPROF_COLD static void
rb_heapprof_sweep(struct heap_page *page);

extern bool rb_heapprof_quarantine_on; /* gc/quarantine */

HEAPPROF_COLD static void
rb_heapprof_quarantine_before(struct heap_page *page);

/* The page is about to be swept. Its mark bits tell which objects are dead. */
static inline void
rb_heapprof_gate_sweep(struct heap_page *page, const struct heapprof_page *known)
{
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_quarantine_before(page);
    if (RB_UNLIKELY(known->samples | known->identities)) rb_heapprof_sweep(page);
}

HEAPPROF_COLD static void
rb_heapprof_quarantine_swept(struct heap_page *page, int *freed_slots, int *empty_slots);

/* The page has been swept, and its slots have been counted, but not added up. */
static inline void
rb_heapprof_gate_swept_page(struct heap_page *page, int *freed_slots, int *empty_slots)
{
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) {
        rb_heapprof_quarantine_swept(page, freed_slots, empty_slots);
    }
}

HEAPPROF_COLD static void
rb_heapprof_quarantine_finalized(struct heap_page *page, VALUE slot);

/* An object's finalizer has run, and its slot was added to the free list. */
static inline void
rb_heapprof_gate_finalized(struct heap_page *page, VALUE slot)
{
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_quarantine_finalized(page, slot);
}

HEAPPROF_COLD static void
rb_heapprof_quarantine_added(struct heap_page *page);

/* The heap has a new page, whose slots are all free. */
static inline void
rb_heapprof_gate_added_page(struct heap_page *page)
{
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_quarantine_added(page);
}

HEAPPROF_COLD static bool
rb_heapprof_quarantine_held_p(const struct heap_page *page, VALUE slot);

/* Whether the slot is one that has no object to be freed at the end of the process. */
static inline bool
rb_heapprof_gate_held_p(const struct heap_page *page, VALUE slot)
{
    return RB_UNLIKELY(rb_heapprof_quarantine_on) && rb_heapprof_quarantine_held_p(page, slot);
}

HEAPPROF_COLD static bool
rb_heapprof_uses_marked(VALUE object);

/* MRI is about to end with a [BUG], because a dead object was marked. Returns true if that is one
 * which is held back: then its mark is taken back. */
static inline bool
rb_heapprof_gate_marked_dead(VALUE object)
{
    return RB_UNLIKELY(rb_heapprof_quarantine_on) && rb_heapprof_uses_marked(object);
}

HEAPPROF_COLD static void
rb_heapprof_quarantine_walk(struct heap_page **walked, struct heap_page *page);

/* A walk over all objects comes to a page, or ends if page is NULL. walked is the walk's own; it
 * begins as NULL. */
static inline void
rb_heapprof_gate_walk(struct heap_page **walked, struct heap_page *page)
{
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_quarantine_walk(walked, page);
}

HEAPPROF_COLD static void
rb_heapprof_move(VALUE from, VALUE to);

/* The object is about to be copied to another slot. */
static inline void
rb_heapprof_gate_move(VALUE from, VALUE to)
{
    if (RB_FL_ANY_RAW(from, HEAPPROF_FLAG)) rb_heapprof_move(from, to);
}

/* ---- the allocator: book/countdown.c, blocks/ ---- */

/* The way to the next sample. Only its thread subtracts. Another thread writes `left` to call it
 * (book/countdown.c). */
struct heapprof_countdown {
    int64_t  left;           /* bytes; below 0: the sample is here, or a thread has called */
    uint64_t interval_bytes; /* that it was drawn at; 0: no sample is at its end */
};

/* The site of a growth, found before the block is reallocated. */
struct heapprof_prepared {
    uint32_t site;           /* 0: none */
    uint64_t epoch;          /* of the profiler then; the site is void in another */
    uint64_t rooms;          /* how often room had been made then; the site is void after more */
};

/* A native thread's place in the byte stream. It begins as zero: the thread has not asked for
 * any memory yet. */
struct heapprof_thread {
    struct heapprof_countdown own;          /* of bytes asked of MRI's allocator */
    struct heapprof_countdown all;          /* of bytes that malloc_all.c counts */
    struct heapprof_prepared prepared;
    uint32_t locks;                         /* how many times it has the blocks' lock */
    bool own_work;                          /* its requests are the profiler's own */
    bool own_report;                        /* the memory it reports next is the profiler's own */
    bool own_object;                        /* the object it allocates next is the profiler's own */
    bool waits_for_gvl;                     /* some of its samples wait for its Ruby stack */
    struct heapprof_thread *next;
    struct heapprof_thread **previous_next; /* NULL: not in the list */
};

static __thread struct heapprof_thread heapprof_thread;
extern uint8_t rb_heapprof_block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

HEAPPROF_COLD static void
rb_heapprof_malloc(void *mem, size_t begin, size_t end);

static inline void
rb_heapprof_gate_malloc(void *mem, size_t size_bytes)
{
    if (RB_UNLIKELY((heapprof_thread.own.left -= (int64_t)size_bytes) < 0)) {
        rb_heapprof_malloc(mem, 0, size_bytes);
    }
}

static inline bool
rb_heapprof_maybe_block_p(const void *mem)
{
    return rb_heapprof_block_filter[rb_heapprof_block_filter_index((uintptr_t)mem)];
}

HEAPPROF_COLD static void
rb_heapprof_free(void *mem);

static inline void
rb_heapprof_gate_free(void *mem)
{
    if (RB_UNLIKELY(rb_heapprof_maybe_block_p(mem))) rb_heapprof_free(mem);
}

HEAPPROF_COLD static void
rb_heapprof_prepare(void);

/* More than a block grows by when it gets new_bytes: allocators round up. */
static inline int64_t
rb_heapprof_growth_most(size_t old_bytes, size_t new_bytes)
{
    return (int64_t)(new_bytes + new_bytes / 2 + 64 - old_bytes);
}

HEAPPROF_COLD static uint32_t
rb_heapprof_lift(void *mem);

/* mem is about to be reallocated. The caller gives the result to gate_realloced. */
static inline uint32_t
rb_heapprof_gate_realloc(void *mem, size_t old_bytes, size_t new_bytes)
{
    if (RB_UNLIKELY(heapprof_thread.own.left < rb_heapprof_growth_most(old_bytes, new_bytes))) {
        rb_heapprof_prepare();
    }
    return RB_UNLIKELY(rb_heapprof_maybe_block_p(mem)) ? rb_heapprof_lift(mem) : 0;
}

HEAPPROF_COLD static void
rb_heapprof_put(uint32_t lifted, void *mem);

/* The block is at mem, or stays where it was if mem is NULL. */
static inline void
rb_heapprof_gate_realloced(uint32_t lifted, void *was, void *mem)
{
    if (RB_UNLIKELY(lifted)) rb_heapprof_put(lifted, mem ? mem : was);
}

HEAPPROF_COLD static void
rb_heapprof_cut_block(void *mem, size_t size_bytes);

HEAPPROF_COLD static void
rb_heapprof_grown(void *mem, size_t old_bytes, size_t new_bytes);

static inline void
rb_heapprof_gate_resized(void *mem, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes > old_bytes) {
        heapprof_thread.own.left -= (int64_t)(new_bytes - old_bytes);
        if (RB_UNLIKELY(heapprof_thread.own.left < 0)) rb_heapprof_grown(mem, old_bytes, new_bytes);
    }
    else if (RB_UNLIKELY(rb_heapprof_maybe_block_p(mem))) {
        rb_heapprof_cut_block(mem, new_bytes);
    }
}

HEAPPROF_COLD static void
rb_heapprof_report(size_t size_bytes);
HEAPPROF_COLD static void
rb_heapprof_give_back(size_t size_bytes);

/* An extension reports memory that it has or gives back (profiler/reported.h). */
static inline void
rb_heapprof_gate_adjust(ptrdiff_t diff)
{
    if (diff > 0) {
        if (RB_UNLIKELY((heapprof_thread.own.left -= diff) < 0)) {
            rb_heapprof_malloc((void *)rb_heapprof_reported_block((size_t)diff), 0, (size_t)diff);
        }
        if (RB_UNLIKELY(rb_heapprof_on)) rb_heapprof_report((size_t)diff);
    }
    else if (RB_UNLIKELY(rb_heapprof_on) && diff < 0) {
        rb_heapprof_give_back(-(size_t)diff);
    }
}

extern bool rb_heapprof_wbcheck_on; /* gc/wbcheck */

HEAPPROF_COLD static void
rb_heapprof_wbcheck_begun(struct rb_objspace *objspace);
HEAPPROF_COLD static void
rb_heapprof_uses_begun(struct rb_objspace *objspace);

/* A GC has begun. It is counted already, and has not marked yet. All ractors are stopped. */
static inline void
rb_heapprof_gate_begun(struct rb_objspace *objspace)
{
    if (RB_UNLIKELY(rb_heapprof_wbcheck_on)) rb_heapprof_wbcheck_begun(objspace);
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_uses_begun(objspace);
}

HEAPPROF_COLD static void
rb_heapprof_wbcheck_marked(void);
HEAPPROF_COLD static void
rb_heapprof_quarantine_cover_again(struct rb_objspace *objspace);

/* It has marked, and has not swept yet. */
static inline void
rb_heapprof_gate_marked(struct rb_objspace *objspace)
{
    if (RB_UNLIKELY(rb_heapprof_wbcheck_on)) rb_heapprof_wbcheck_marked();
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_quarantine_cover_again(objspace);
}

HEAPPROF_COLD static void
rb_heapprof_swept(struct rb_objspace *objspace);

/* Sweeping has ended. */
static inline void
rb_heapprof_gate_swept(struct rb_objspace *objspace)
{
    if (RB_UNLIKELY(rb_heapprof_on)) rb_heapprof_swept(objspace);
    if (RB_UNLIKELY(rb_heapprof_quarantine_on)) rb_heapprof_quarantine_cover_again(objspace);
}

#endif
