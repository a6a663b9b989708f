/* index.c - from a key to the number of its entry.
 *
 * Open addressing with linear probing over a power of two of uint32_t. A hash
 * names a home bucket; an entry stands there or in the first free bucket after
 * it, wrapping at the end.
 *
 *   I1  count <= 3/4 of capacity, so every search ends at a free bucket.
 *   I2  no number is in twice.
 *   I3  between an entry's home and the entry no bucket is free.
 *   I4  capacity is 0 or a power of two.
 *
 * Erase leaves no tombstone. It shifts back what would be cut off from its home:
 *
 *   bucket       3    4    5    6    7
 *   before       a3   b3   c5   d4   .       (letter: entry, digit: its home)
 *   erase a      .    b3   c5   d4   .       b may move to 3: home 3
 *                b3   .    c5   d4   .       c stays: home 5 is behind the hole
 *                b3   d4   c5   .    .       d moves to 4; 7 is free: done
 *
 * Growing doubles the block where it is (mem.c: the kernel moves pages, not
 * bytes) and then moves each entry up by half the new capacity if the new hash
 * bit is set. Entries are taken in the order of the old probe sequence, from
 * behind a free bucket on. By induction each finds a place no further from its
 * home than its old one, so a place never lies behind an entry that has yet to
 * move, and I3 holds for all that have.
 *
 * The caller serialises (GVL, or the VM barrier of a GC). Only grow allocates;
 * the rest may run anywhere in the collector.
 */
#include "base/index.h"

#include <string.h>

#include "base/check.h"

/* ---- room ---- */

static void
spread(struct heapprof_index *index, size_t old_capacity,
       heapprof_hash_i *hash_i, const void *owner)
{
    size_t start = 0;
    size_t step;

    while (start < old_capacity && index->buckets[start]) start++;
    for (step = 1; step < old_capacity; step++) {
        size_t bucket = (start + step) & (old_capacity - 1);
        uint32_t number = index->buckets[bucket];
        if (number) {
            index->buckets[bucket] = 0;
            rb_heapprof_index_insert(index, hash_i(owner, number), number);
        }
    }
}

bool
rb_heapprof_index_grow(struct heapprof_index *index, struct heapprof_mem *mem,
                       size_t count, heapprof_hash_i *hash_i, const void *owner)
{
    size_t old_capacity = index->capacity;

    if (count >= INT32_MAX) { /* numbers stay far from UINT32_MAX, which callers give a meaning */
        mem->refused++;
        return false;
    }
    if (!HEAPPROF_MEM_GROW(mem, index->buckets, index->capacity,
                           2 * old_capacity + !old_capacity)) {
        return false;
    }
    HEAPPROF_ASSERT((index->capacity & rb_heapprof_index_mask(index)) == 0);
    spread(index, old_capacity, hash_i, owner);
    return true;
}

void
rb_heapprof_index_release(struct heapprof_index *index, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, index->buckets, index->capacity);
}

void
rb_heapprof_index_clear(struct heapprof_index *index, struct heapprof_mem *mem, size_t count)
{
    if (index->capacity == 0) return;
    HEAPPROF_MEM_SHRINK(mem, index->buckets, index->capacity, (count + 1) / 3 * 4 + 4);
    memset(index->buckets, 0, index->capacity * sizeof(*index->buckets));
}

/* ---- debug ---- */

static bool
reachable_p(const struct heapprof_index *index, size_t bucket, uint64_t hash)
{
    while ((hash & rb_heapprof_index_mask(index)) != bucket) {
        uint32_t other = rb_heapprof_index_at(index, hash);
        if (other == 0 || other == index->buckets[bucket]) return false;
        hash++;
    }
    return true;
}

void
rb_heapprof_index_check(const struct heapprof_index *index, size_t count,
                        heapprof_hash_i *hash_i, const void *owner)
{
    size_t bucket, seen = 0;

    HEAPPROF_ASSERT(index->capacity == 0 || (index->capacity & rb_heapprof_index_mask(index)) == 0);
    HEAPPROF_ASSERT(count <= index->capacity / 4 * 3);
    for (bucket = 0; bucket < index->capacity; bucket++) {
        uint32_t number = index->buckets[bucket];
        if (number == 0) continue;
        HEAPPROF_ASSERT(reachable_p(index, bucket, hash_i(owner, number)));
        seen++;
    }
    HEAPPROF_ASSERT(seen == count);
}
