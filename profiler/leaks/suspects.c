/* suspects.c - births of survivors, as sets of 64 GCs by site and by stack.
 *
 * Two GCs may share a bit. A set is then smaller than it should be. In the worst case a leak is not
 * suspected until the next birth.
 *
 * The caller serialises. init allocates (mem.c).
 */
#include "profiler/leaks/suspects.h"

#define GROWING 3 /* births at so many GCs */

bool
rb_heapprof_native_leaks_init(struct heapprof_native_leaks *leaks, struct heapprof_mem *mem,
                              uint32_t old_gc, uint32_t sites_end, uint32_t stacks_end)
{
    *leaks = (struct heapprof_native_leaks){.mem = mem, .old_gc = old_gc};
    return HEAPPROF_MEM_GROW(mem, leaks->block_births, leaks->block_births_capacity, sites_end) &&
           HEAPPROF_MEM_GROW(mem, leaks->object_births, leaks->object_births_capacity, stacks_end);
}

void
rb_heapprof_native_leaks_free(struct heapprof_native_leaks *leaks)
{
    HEAPPROF_MEM_RELEASE(leaks->mem, leaks->block_births, leaks->block_births_capacity);
    HEAPPROF_MEM_RELEASE(leaks->mem, leaks->object_births, leaks->object_births_capacity);
}

/* The GC count may have wrapped since the birth. */
static uint64_t
birth_bit(const struct heapprof_native_leaks *leaks, uint32_t birth_gc)
{
    bool survivor = (int32_t)(birth_gc - leaks->old_gc) < 0;
    return survivor ? UINT64_C(1) << birth_gc % 64 : 0;
}

void
rb_heapprof_native_leaks_object(struct heapprof_native_leaks *leaks, uint32_t stack,
                                uint32_t birth_gc)
{
    leaks->object_births[stack] |= birth_bit(leaks, birth_gc);
}

void
rb_heapprof_native_leaks_block(struct heapprof_native_leaks *leaks, uint32_t site,
                               uint32_t birth_gc)
{
    leaks->block_births[site] |= birth_bit(leaks, birth_gc);
}

static bool
growing_p(uint64_t births)
{
    int count = 0;

    for (; births; births &= births - 1) count++;
    return count >= GROWING;
}

bool
rb_heapprof_native_leaks_p(const struct heapprof_native_leaks *leaks, uint32_t site, uint32_t stack)
{
    return growing_p(leaks->block_births[site]) && !growing_p(leaks->object_births[stack]);
}
