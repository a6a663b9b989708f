/* checksum.c - a sum over the tables. It covers the part of each array that is in use, and the
 * numbers that say how large that part is. */
#include "profiler/checksum.h"

#include <string.h>

static uint64_t
add_number(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

static uint64_t
add_bytes(uint64_t sum, const void *bytes, size_t count)
{
    const char *next = bytes;
    uint64_t word;

    sum = add_number(add_number(sum, (uintptr_t)bytes), count);
    for (; count >= sizeof(word); count -= sizeof(word), next += sizeof(word)) {
        memcpy(&word, next, sizeof(word));
        sum = add_number(sum, word);
    }
    word = 0;
    if (count) memcpy(&word, next, count);
    return add_number(sum, word);
}

#define ADD_ARRAY(sum, array, count) add_bytes(sum, array, (array) ? (count) * sizeof(*(array)) : 0)

static uint64_t
add_numbers(uint64_t sum, const struct heapprof_numbers *numbers)
{
    sum = add_number(add_number(sum, numbers->capacity), numbers->free_head);
    return add_number(add_number(sum, numbers->end), numbers->count);
}

static uint64_t
add_index(uint64_t sum, const struct heapprof_index *index)
{
    return ADD_ARRAY(sum, index->buckets, index->capacity);
}

static uint64_t
add_addresses(uint64_t sum, const struct heapprof_address_table *table)
{
    sum = add_index(add_numbers(sum, &table->numbers), &table->index);
    return ADD_ARRAY(sum, table->entries, table->numbers.end);
}

static uint64_t
add_strings(uint64_t sum, const struct heapprof_strings *strings)
{
    sum = add_index(add_numbers(sum, &strings->numbers), &strings->index);
    sum = ADD_ARRAY(sum, strings->bytes, strings->bytes_used);
    return ADD_ARRAY(sum, strings->all, strings->numbers.end);
}

static uint64_t
add_identities(uint64_t sum, const struct heapprof_identities *identities)
{
    sum = add_numbers(add_addresses(sum, &identities->addresses), &identities->numbers);
    sum = ADD_ARRAY(sum, identities->ids, identities->addresses.numbers.end);
    return ADD_ARRAY(sum, identities->all, identities->numbers.end);
}

static uint64_t
add_functions(uint64_t sum, const struct heapprof_functions *functions)
{
    sum = add_index(add_numbers(sum, &functions->numbers), &functions->index);
    return ADD_ARRAY(sum, functions->all, functions->numbers.end);
}

static uint64_t
add_stacks(uint64_t sum, const struct heapprof_stacks *stacks)
{
    sum = add_index(add_numbers(sum, &stacks->numbers), &stacks->index);
    return ADD_ARRAY(sum, stacks->nodes, stacks->numbers.end);
}

static uint64_t
add_sites(uint64_t sum, const struct heapprof_sites *sites)
{
    sum = add_index(add_numbers(sum, &sites->numbers), &sites->index);
    sum = add_bytes(sum, &sites->folded, sizeof(sites->folded));
    sum = add_bytes(sum, &sites->folded_blocks, sizeof(sites->folded_blocks));
    sum = add_number(sum, sites->folded_count);
    if (sites->lifetimes) {
        sum = add_bytes(sum, &sites->folded_deaths, sizeof(sites->folded_deaths));
        sum = add_bytes(sum, &sites->folded_block_deaths, sizeof(sites->folded_block_deaths));
        sum = ADD_ARRAY(sum, sites->deaths, sites->numbers.end);
    }
    if (sites->object_sums.now) {
        sum = ADD_ARRAY(sum, sites->object_sums.now, sites->numbers.end);
        sum = ADD_ARRAY(sum, sites->object_sums.peak, sites->numbers.end);
    }
    return ADD_ARRAY(sum, sites->all, sites->numbers.end);
}

uint64_t
rb_heapprof_checksum_blocks(const struct heapprof_tables *tables)
{
    const struct heapprof_blocks *blocks = &tables->blocks;
    const struct heapprof_reported *reported = &tables->reported;
    uint64_t sum = add_numbers(add_addresses(0, &blocks->addresses), &blocks->numbers);

    sum = ADD_ARRAY(sum, blocks->pieces_of, blocks->addresses.numbers.end);
    sum = ADD_ARRAY(sum, blocks->owners, blocks->addresses.numbers.end);
    sum = ADD_ARRAY(sum, blocks->pieces, blocks->numbers.end);
    sum = add_number(add_number(sum, blocks->retired_head), blocks->live_count);
    sum = add_index(add_numbers(sum, &reported->numbers), &reported->index);
    return ADD_ARRAY(sum, reported->all, reported->numbers.end);
}

uint64_t
rb_heapprof_checksum_tables(const struct heapprof_tables *tables)
{
    const struct heapprof_live_table *live = &tables->live;
    uint64_t sum = add_identities(add_strings(0, &tables->strings), &tables->identities);

    sum = add_stacks(add_functions(sum, &tables->functions), &tables->stacks);
    sum = add_stacks(sum, &tables->c_paths);
    sum = add_addresses(add_sites(sum, &tables->sites), &live->addresses);
    sum = ADD_ARRAY(sum, live->samples, live->addresses.numbers.end);
    return ADD_ARRAY(sum, tables->callers.all, tables->callers.count);
}
