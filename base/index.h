#ifndef HEAPPROF_INDEX_H
#define HEAPPROF_INDEX_H
/* The hash index under every table: from a key to the number of its entry. The entries are in
 * the owner's arrays. The index keeps numbers only, and asks the owner for the hash of an entry
 * when it has to place it again. index.c has the picture.
 */
#include "base/check.h"
#include "base/mem.h"

struct heapprof_index {
    uint32_t *buckets;  /* number of an entry; 0: free */
    size_t    capacity; /* 0 or a power of two */
};

/* Returns the hash of the key that the entry has at this moment. */
typedef uint64_t heapprof_hash_i(const void *owner, uint32_t number);

/* Whether there is room for one more entry, where there are count. */
static inline bool
rb_heapprof_index_room_p(const struct heapprof_index *index, size_t count)
{
    return count + 1 <= index->capacity / 4 * 3 && count < INT32_MAX;
}

/* Doubles the capacity. Returns false, with everything as it was, if memory is refused. */
bool rb_heapprof_index_grow(struct heapprof_index *index, struct heapprof_mem *mem,
                            size_t count, heapprof_hash_i *hash_i, const void *owner);

/* Makes room for one more entry, where there are count. Returns false, with everything as it
 * was, if memory is refused. Room that was made stays until it is used. */
static inline bool
rb_heapprof_index_reserve(struct heapprof_index *index, struct heapprof_mem *mem,
                          size_t count, heapprof_hash_i *hash_i, const void *owner)
{
    return rb_heapprof_index_room_p(index, count) ||
           rb_heapprof_index_grow(index, mem, count, hash_i, owner);
}

/* Empties the index, so that at most count entries can be entered anew. There is room for them.
 * Gives memory back that so many do not need. */
void rb_heapprof_index_clear(struct heapprof_index *index, struct heapprof_mem *mem, size_t count);

void rb_heapprof_index_release(struct heapprof_index *index, struct heapprof_mem *mem);

static inline size_t
rb_heapprof_index_mask(const struct heapprof_index *index)
{
    return index->capacity - 1;
}

/* The candidate at a probe; 0 ends the search. A search starts with probe = hash and counts
 * upwards. In an index without buckets it ends at once. */
static inline uint32_t
rb_heapprof_index_at(const struct heapprof_index *index, uint64_t probe)
{
    return index->capacity ? index->buckets[probe & (index->capacity - 1)] : 0;
}

/* Enters a number whose key is absent. There must be room. Allocates nothing. */
static inline void
rb_heapprof_index_insert(struct heapprof_index *index, uint64_t hash, uint32_t number)
{
    while (rb_heapprof_index_at(index, hash)) hash++;
    index->buckets[hash & rb_heapprof_index_mask(index)] = number;
}

/* Takes out a number that is in the index. Its entry still has its key. Allocates nothing. Inline,
 * as is insert, so that hash_i is no call: samples are entered and taken out all the time. */
static inline void
rb_heapprof_index_erase(struct heapprof_index *index, uint32_t number, heapprof_hash_i *hash_i,
                        const void *owner)
{
    size_t mask = rb_heapprof_index_mask(index), hole = hash_i(owner, number) & mask;
    uint32_t other;

    while (index->buckets[hole] != number) {
        HEAPPROF_ASSERT(index->buckets[hole] != 0);
        hole = (hole + 1) & mask;
    }
    for (size_t bucket = hole + 1; (other = index->buckets[bucket & mask]) != 0; bucket++) {
        size_t from_home = (bucket - hash_i(owner, other)) & mask;
        if (from_home < ((bucket - hole) & mask)) continue; /* it would not be found in the hole */
        index->buckets[hole] = other;
        hole = bucket & mask;
    }
    index->buckets[hole] = 0;
}

/* Asserts I1 to I4 (index.c); count is how many numbers there should be. */
void rb_heapprof_index_check(const struct heapprof_index *index, size_t count,
                             heapprof_hash_i *hash_i, const void *owner);

/* Spreads a difference anywhere in key over all bits: slot addresses differ in a few middle bits
 * only. It is the 64-bit finalizer of MurmurHash3 (Appleby 2011). */
static inline uint64_t
rb_heapprof_index_hash(uint64_t key)
{
    key = (key ^ (key >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    key = (key ^ (key >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return key ^ (key >> 33);
}

#endif
