/* reported.c - a count for each size that is reported.
 *
 *     index    1048576 -> 2    5000 -> 1
 *     all      1: 5000, 37     2: 1048576, 1     3: free
 *
 *   I1  an entry in use has a count, and is in the index under its size; a size is there once.
 *   I2  an entry without a count is free.
 *
 * A size without reports frees its entry. So an extension that reports ever new sizes, and
 * gives all back, needs no more entries than it has reported sizes at one time.
 *
 * The caller serialises. Only reserve allocates (mem.c).
 */
#include "profiler/reported.h"

#include <string.h>

#include "profiler/blocks.h"
#include "base/check.h"
#include "profiler/sampler.h"

void
rb_heapprof_reported_init(struct heapprof_reported *reported, struct heapprof_mem *mem)
{
    memset(reported, 0, sizeof(*reported));
    reported->mem = mem;
    rb_heapprof_numbers_init(&reported->numbers);
}

void
rb_heapprof_reported_free(struct heapprof_reported *reported)
{
    rb_heapprof_index_release(&reported->index, reported->mem);
    HEAPPROF_NUMBERS_RELEASE(&reported->numbers, reported->mem, reported->all);
    rb_heapprof_reported_init(reported, reported->mem);
}

/* ---- entries ---- */

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_reported *reported = owner;
    return rb_heapprof_index_hash(reported->all[number].size_bytes);
}

/* 0: nothing of that size is there. */
static uint32_t
find(const struct heapprof_reported *reported, size_t size_bytes)
{
    uint64_t probe = rb_heapprof_index_hash(size_bytes);
    uint32_t number;

    while ((number = rb_heapprof_index_at(&reported->index, probe)) != 0) {
        if (reported->all[number].size_bytes == size_bytes) return number;
        probe++;
    }
    return 0;
}

static uint32_t
add_entry(struct heapprof_reported *reported, size_t size_bytes)
{
    uint32_t number = rb_heapprof_numbers_next(&reported->numbers);

    rb_heapprof_numbers_take(&reported->numbers, &reported->all[number].next_free);
    reported->all[number] = (struct heapprof_reports){ .size_bytes = size_bytes };
    rb_heapprof_index_insert(&reported->index, rb_heapprof_index_hash(size_bytes), number);
    return number;
}

static void
remove_entry(struct heapprof_reported *reported, uint32_t number)
{
    rb_heapprof_index_erase(&reported->index, number, hash_i, reported);
    HEAPPROF_ASSERT(reported->all[number].count == 0);
    rb_heapprof_numbers_give_back(&reported->numbers, number, &reported->all[number].next_free);
}

/* ---- operations ---- */

bool
rb_heapprof_reported_room_p(const struct heapprof_reported *reported, size_t size_bytes)
{
    return find(reported, size_bytes) ||
           (rb_heapprof_numbers_room_p(&reported->numbers) &&
            rb_heapprof_index_room_p(&reported->index, reported->numbers.count));
}

bool
rb_heapprof_reported_reserve(struct heapprof_reported *reported)
{
    return HEAPPROF_NUMBERS_RESERVE(&reported->numbers, reported->mem, reported->all) &&
           rb_heapprof_index_reserve(&reported->index, reported->mem, reported->numbers.count,
                                     hash_i, reported);
}

void
rb_heapprof_reported_add(struct heapprof_reported *reported, size_t size_bytes)
{
    uint32_t number = find(reported, size_bytes);

    HEAPPROF_ASSERT(size_bytes && rb_heapprof_reported_room_p(reported, size_bytes));
    if (!number) number = add_entry(reported, size_bytes);
    reported->all[number].count++;
}

void
rb_heapprof_reported_give_back(struct heapprof_reported *reported, size_t size_bytes,
                               struct heapprof_blocks *blocks, struct heapprof_sampler *sampler)
{
    uintptr_t address = rb_heapprof_reported_block(size_bytes);
    uint32_t number = find(reported, size_bytes);
    if (!number) return;

    size_t end = rb_heapprof_blocks_end(blocks, address);
    uint64_t all = reported->all[number].count--, sampled = end / size_bytes;
    if (all == 1) remove_entry(reported, number);
    if (rb_heapprof_sampler_uniform(sampler) * (double)all <= (double)sampled) {
        rb_heapprof_blocks_cut(blocks, address, end - size_bytes);
    }
}

uint64_t
rb_heapprof_reported_count(const struct heapprof_reported *reported, size_t size_bytes)
{
    uint32_t number = find(reported, size_bytes);
    return number ? reported->all[number].count : 0;
}

/* ---- debug ---- */

static uint32_t
link_i(const void *owner, uint32_t number)
{
    const struct heapprof_reported *reported = owner;
    const struct heapprof_reports *reports = &reported->all[number];

    return reports->count ? HEAPPROF_NUMBER_USED : reports->next_free;
}

void
rb_heapprof_reported_check(const struct heapprof_reported *reported)
{
    uint32_t number;

    for (number = 1; number < reported->numbers.end; number++) {
        if (reported->all[number].count == 0) continue;
        HEAPPROF_ASSERT(find(reported, reported->all[number].size_bytes) == number);
    }
    rb_heapprof_numbers_check(&reported->numbers, link_i, reported);
    rb_heapprof_index_check(&reported->index, reported->numbers.count, hash_i, reported);
}
