#ifndef HEAPPROF_REPORTED_H
#define HEAPPROF_REPORTED_H
/* How much of each size has been reported and not given back: memory that has no address.
 *
 * All reports of one size are one block that grows and shrinks, under an address that no block
 * has. The sampled ones among them are its pieces (blocks.h), one behind the other. Nobody says
 * which report is given back. So all reports of a size are counted, sampled or not. Of N
 * reports of which k are sampled
 *
 *     a report        N + 1, and k + 1 if it is a sample
 *     one given back  N - 1, and k - 1 with probability k / N; the last piece goes
 *
 * Then k of N are binomial at any time, whatever came and went. So k times the weight has no
 * bias, and it is 0 if N is 0. (k / N is the chance that a report taken out blindly is sampled.
 * With another chance, k would be reflected at 0, and drift upwards.)
 *
 * What is given back while N is 0 was reported before the start, or in another size. It is
 * ignored. So an extension that gives back other sizes than it reported is not followed: the
 * sizes it reported stay, and so does what was counted when something of before the start is
 * taken for it.
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

/* The address under which the reports of a size are a block. It is odd, so no block has it. */
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

/* Whether another report of that size can be counted without memory. */
bool rb_heapprof_reported_room_p(const struct heapprof_reported *reported, size_t size_bytes);

/* Makes room for a report of a new size. Returns false if memory is refused. */
bool rb_heapprof_reported_reserve(struct heapprof_reported *reported);

/* Counts one more report of that size, for which there is room. size_bytes is not 0. Allocates
 * nothing. */
void rb_heapprof_reported_add(struct heapprof_reported *reported, size_t size_bytes);

/* A report is given back: with the probability above, the last piece of that size leaves blocks.
 * Allocates nothing. */
void rb_heapprof_reported_give_back(struct heapprof_reported *reported, size_t size_bytes,
                                    struct heapprof_blocks *blocks,
                                    struct heapprof_sampler *sampler);

/* How many reports of that size are not given back. */
uint64_t rb_heapprof_reported_count(const struct heapprof_reported *reported, size_t size_bytes);

/* Asserts the invariants of reported.c. */
void rb_heapprof_reported_check(const struct heapprof_reported *reported);

#endif
