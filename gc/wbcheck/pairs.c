/* pairs.c - which references barriers have noted: the receipts. Compiled inside gc.c. wbcheck.c
 * calls it under the VM lock.
 *
 * If memory is refused a pair is not kept. Then the caller judges nothing until the next check. */
#include "gc/wbcheck/wbcheck.h"

/* A reference that a barrier has noted. */
struct wb_pair {
    VALUE    parent;
    VALUE    child;                /* 0: any child */
    uint32_t site;                 /* that noted it first and is to be judged; 0: none */
    bool     early;                /* at that call the struct did not have it */
    bool     counted;              /* it is counted in told.c */
};

struct wb_pairs {
    struct heapprof_mem *mem;
    struct heapprof_index index;
    struct wb_pair *all;           /* by number; [0] unused */
    size_t capacity;
    uint32_t count;
};

HEAPPROF_COLD static uint64_t
pair_hash(VALUE parent, VALUE child)
{
    return rb_heapprof_index_hash(parent ^ rb_heapprof_index_hash(child));
}

HEAPPROF_COLD static uint64_t
pair_hash_i(const void *owner, uint32_t number)
{
    const struct wb_pair *pair = &((const struct wb_pairs *)owner)->all[number];

    return pair_hash(pair->parent, pair->child);
}

/* Returns 0 if the pair is not there. */
HEAPPROF_COLD static uint32_t
pair_number(const struct wb_pairs *pairs, VALUE parent, VALUE child)
{
    uint32_t number;

    for (uint64_t probe = pair_hash(parent, child);
         (number = rb_heapprof_index_at(&pairs->index, probe)) != 0; probe++) {
        if (pairs->all[number].parent == parent && pairs->all[number].child == child) return number;
    }
    return 0;
}

HEAPPROF_COLD static bool
pair_p(const struct wb_pairs *pairs, VALUE parent, VALUE child)
{
    return pair_number(pairs, parent, child) != 0;
}

/* Returns false if memory is refused. */
HEAPPROF_COLD static bool
add_pair(struct wb_pairs *pairs, struct wb_pair pair)
{
    if (!HEAPPROF_MEM_GROW(pairs->mem, pairs->all, pairs->capacity, (size_t)pairs->count + 2) ||
        !rb_heapprof_index_reserve(&pairs->index, pairs->mem, pairs->count, pair_hash_i, pairs)) {
        return false;
    }
    pairs->all[++pairs->count] = pair;
    rb_heapprof_index_insert(&pairs->index, pair_hash(pair.parent, pair.child), pairs->count);
    return true;
}

HEAPPROF_COLD static bool
noted_p(const struct wb_pairs *pairs, VALUE parent, VALUE child)
{
    return pair_p(pairs, parent, child) || pair_p(pairs, parent, 0);
}

HEAPPROF_COLD static bool
marked_p(VALUE object)
{
    return MARKED_IN_BITMAP(GET_HEAP_MARK_BITS(object), object);
}

HEAPPROF_COLD static void
clear_pairs(struct wb_pairs *pairs)
{
    pairs->count = 0;
    rb_heapprof_index_clear(&pairs->index, pairs->mem, 0);
}

/* Is called once a GC has marked: drops pairs of dead objects. Returns false if memory is
 * refused, so that not all of the rest are kept. */
HEAPPROF_COLD static bool
forget_dead_pairs(struct wb_pairs *pairs)
{
    uint32_t count = pairs->count;
    bool kept = true;

    clear_pairs(pairs);
    for (uint32_t number = 1; number <= count; number++) {
        struct wb_pair pair = pairs->all[number];
        bool alive = marked_p(pair.parent) && (!pair.child || marked_p(pair.child));
        if (alive) kept &= add_pair(pairs, pair);
    }
    return kept;
}

HEAPPROF_COLD static void
release_pairs(struct wb_pairs *pairs)
{
    HEAPPROF_MEM_RELEASE(pairs->mem, pairs->all, pairs->capacity);
    rb_heapprof_index_release(&pairs->index, pairs->mem);
    pairs->count = 0;
}
