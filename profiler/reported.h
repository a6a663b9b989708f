#ifndef HEAPPROF_REPORTED_H
#define HEAPPROF_REPORTED_H
/* How much of each size has been reported and not given back: memory that has no address.
 *
 * What is reported in one size goes as one block that grows and shrinks, under an address that
 * no block has; those of its reports that are sampled are its pieces (blocks.h), one behind
 * the other. Nobody says which of them is given back. So all of that size are counted, sampled or
 * not, and of N reports of which k are sampled
 *
 *     a report        N + 1, and k + 1 if it is a sample
 *     one given back  N - 1, and k - 1 with probability k / N; the last goes
 *
 * Then k of N are binomial at any time, whatever came and went: k times the weight is without
 * bias, and 0 when N is. (k / N is the chance that a report taken out blindly is sampled. With a
 * chance of its own in its place, k would be reflected at 0, and drift upwards.)
 *
 * What is given back when N is 0 was reported before the start, or in another size, and is
 * ignored. So who gives back other sizes than were reported is not followed: those that were
 * stay, and so does what was counted when something of before the start is taken for it.
 */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_blocks;
struct heapprof_sampler;

struct heapprof_reports {
    size_t   size_bytes; /* of each */
    uint64_t count;      /* not given back; 0: the entry is free */
    uint32_t next_free;  /* link of a free entry */
};

struct heapprof_reported {
    struct heapprof_mem     *mem;
    struct heapprof_index    index; /* by size */
    struct heapprof_reports *all;   /* [0] unused */
    struct heapprof_numbers  numbers;
};

static inline uintptr_t
rb_heapprof_reported_block(size_t size_bytes)
{
    return ((uintptr_t)size_bytes << 4) | 1;
}

static inline bool
rb_heapprof_reported_block_p(uintptr_t address)
{
    return address & 1;
}

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_reported_init(struct heapprof_reported *reported, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_reported_free(struct heapprof_reported *reported);

/* Whether another report of that size can be counted without memory; and makes that so, false when
 * memory is refused. */
bool rb_heapprof_reported_room_p(const struct heapprof_reported *reported, size_t size_bytes);
bool rb_heapprof_reported_reserve(struct heapprof_reported *reported);

/* One more of that size, for which there is room. size_bytes is not 0. Allocates nothing. */
void rb_heapprof_reported_add(struct heapprof_reported *reported, size_t size_bytes);

/* One is given back: with its probability the last piece of that size leaves blocks. Allocates
 * nothing. */
void rb_heapprof_reported_give_back(struct heapprof_reported *reported, size_t size_bytes,
                                    struct heapprof_blocks *blocks,
                                    struct heapprof_sampler *sampler);

/* How many of that size there are. */
uint64_t rb_heapprof_reported_count(const struct heapprof_reported *reported, size_t size_bytes);

/* Asserts the invariants of reported.c. */
void rb_heapprof_reported_check(const struct heapprof_reported *reported);

#endif
