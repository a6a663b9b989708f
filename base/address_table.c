/* address_table.c - entries by address, chained by heap page.
 *
 *   page heads (the caller's)   entries                      index
 *                                 1  0x7f..40   next 3       hash(0x7f..40) -> 1
 *   page A -> 1 -> 3              2  free       next 0       hash(0x7f..90) -> 3
 *   page B -> 4                   3  0x7f..90   previous 1   hash(0x80..00) -> 4
 *   free   -> 2                   4  0x80..00
 *   young  -> 5                   5  0x80..40   young        (none)
 *
 *   I1  an address is in one entry at most, and the index leads to it, unless it is young.
 *   I2  an entry in use is on the chain of its page, or of the young. An entry that is not in use
 *       is free.
 *   I3  next and previous of neighbours name each other, and both are young or none is.
 *   I4  an entry keeps its number when its object moves. So arrays beside the table stay right
 *       without being told.
 *   I5  the index has room for young entries, too. So to settle them needs no memory.
 *
 * A chain is doubly linked, so that a move is O(1): it knows the entry and not its neighbours.
 *
 * The caller serialises. Only add and reserve allocate (mem.c). The rest may run inside a sweep or
 * a compaction.
 */
#include "base/address_table.h"

#include <string.h>

#include "base/check.h"

/* Half of what index_hash does is enough to spread addresses, whose low bits differ. */
static inline uint64_t
hash_of(uintptr_t address)
{
    uint64_t product = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15); /* of the golden ratio */
    return product ^ product >> 32;
}

static uint64_t
hash_i(const void *owner, uint32_t entry)
{
    return hash_of(((const struct heapprof_address_table *)owner)->entries[entry].address);
}

/* ---- chains ---- */

static bool
young_p(const struct heapprof_address_table *table, uint32_t entry)
{
    return table->entries[entry].previous & HEAPPROF_ADDRESS_YOUNG;
}

/* mark: 0, or that of the young, if head is theirs. */
static void
link_marked(struct heapprof_address_table *table, uint32_t *head, uint32_t entry, uint32_t mark)
{
    struct heapprof_address_entry *linked = &table->entries[entry];

    linked->next = *head;
    linked->previous = mark;
    if (linked->next) table->entries[linked->next].previous = entry | mark;
    *head = entry;
}

static void
link_entry(struct heapprof_address_table *table, uint32_t *page_head, uint32_t entry)
{
    link_marked(table, page_head, entry, 0);
}

static void
link_young(struct heapprof_address_table *table, uint32_t entry)
{
    link_marked(table, &table->young, entry, HEAPPROF_ADDRESS_YOUNG);
}

static void
unlink_entry(struct heapprof_address_table *table, uint32_t *head, uint32_t entry)
{
    struct heapprof_address_entry *linked = &table->entries[entry];
    uint32_t previous = linked->previous & ~HEAPPROF_ADDRESS_YOUNG;

    HEAPPROF_ASSERT(previous || *head == entry);
    if (linked->next) table->entries[linked->next].previous = linked->previous;
    if (previous) table->entries[previous].next = linked->next;
    else *head = linked->next;
}

/* ---- life ---- */

void
rb_heapprof_address_table_init(struct heapprof_address_table *table, struct heapprof_mem *mem)
{
    memset(table, 0, sizeof(*table));
    table->mem = mem;
    rb_heapprof_numbers_init(&table->numbers);
}

void
rb_heapprof_address_table_free(struct heapprof_address_table *table)
{
    HEAPPROF_NUMBERS_RELEASE(&table->numbers, table->mem, table->entries);
    rb_heapprof_index_release(&table->index, table->mem);
    rb_heapprof_address_table_init(table, table->mem);
}

/* ---- operations ---- */

uint32_t
rb_heapprof_address_table_add(struct heapprof_address_table *table, uint32_t *page_head,
                              uintptr_t address)
{
    uint32_t entry;

    HEAPPROF_ASSERT(address != 0 && rb_heapprof_address_table_find(table, address) == 0);
    if (!HEAPPROF_NUMBERS_RESERVE(&table->numbers, table->mem, table->entries) ||
        !rb_heapprof_index_reserve(&table->index, table->mem, table->numbers.count, hash_i,
                                   table)) {
        return 0;
    }
    entry = rb_heapprof_numbers_next(&table->numbers);
    rb_heapprof_numbers_take(&table->numbers, &table->entries[entry].next);
    table->entries[entry].address = address;
    link_entry(table, page_head, entry);
    rb_heapprof_index_insert(&table->index, hash_i(table, entry), entry);
    return entry;
}

void
rb_heapprof_address_table_settle(struct heapprof_address_table *table, uint32_t *page_head,
                                 uint32_t entry)
{
    HEAPPROF_ASSERT(young_p(table, entry));
    HEAPPROF_ASSERT(rb_heapprof_address_table_find(table, table->entries[entry].address) == 0);
    unlink_entry(table, &table->young, entry);
    link_entry(table, page_head, entry);
    rb_heapprof_index_insert(&table->index, hash_i(table, entry), entry);
}

bool
rb_heapprof_address_table_reserve(struct heapprof_address_table *table, uint32_t count)
{
    size_t most = (size_t)table->numbers.count + count;

    if (!HEAPPROF_NUMBERS_RESERVE_MORE(&table->numbers, table->mem, table->entries, count)) {
        return false;
    }
    while (!rb_heapprof_index_room_p(&table->index, most)) { /* which doubles */
        if (!rb_heapprof_index_reserve(&table->index, table->mem, most, hash_i, table))
            return false;
    }
    return true;
}

uint32_t
rb_heapprof_address_table_find(const struct heapprof_address_table *table, uintptr_t address)
{
    uint64_t probe = hash_of(address);
    uint32_t entry;

    for (; (entry = rb_heapprof_index_at(&table->index, probe)) != 0; probe++) {
        if (table->entries[entry].address == address) break;
    }
    return entry;
}

void
rb_heapprof_address_table_move(struct heapprof_address_table *table, uint32_t entry,
                               uint32_t *from_head, uint32_t *to_head, uintptr_t address)
{
    HEAPPROF_ASSERT(address != 0 && rb_heapprof_address_table_find(table, address) == 0);
    HEAPPROF_ASSERT(!young_p(table, entry));
    rb_heapprof_numbers_change(&table->numbers, entry);
    rb_heapprof_index_erase(&table->index, entry, hash_i, table);
    unlink_entry(table, from_head, entry);
    table->entries[entry].address = address;
    link_entry(table, to_head, entry);
    rb_heapprof_index_insert(&table->index, hash_i(table, entry), entry);
}

void
rb_heapprof_address_table_remove(struct heapprof_address_table *table, uint32_t *page_head,
                                 uint32_t entry)
{
    struct heapprof_address_entry *removed = &table->entries[entry];

    HEAPPROF_ASSERT(removed->address != 0);
    rb_heapprof_numbers_change(&table->numbers, entry);
    if (young_p(table, entry)) page_head = &table->young;
    else rb_heapprof_index_erase(&table->index, entry, hash_i, table);
    unlink_entry(table, page_head, entry);
    removed->address = 0;
    removed->previous = 0;
    rb_heapprof_numbers_give_back(&table->numbers, entry, &removed->next);
}

/* ---- packing ---- */

static uint32_t *
head_of(const struct heapprof_packing *packing, uintptr_t address)
{
    return packing->page_head ? packing->page_head(address) : packing->head;
}

static void
clear_heads(const struct heapprof_address_table *table, const struct heapprof_packing *packing)
{
    uint32_t entry;

    for (entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t address = table->entries[entry].address;
        if (address) *head_of(packing, address) = 0;
    }
}

/* Links the entry that becomes this number. */
static void
link_packed(struct heapprof_address_table *table, const struct heapprof_packing *packing,
            uint32_t number, bool young)
{
    if (young) link_young(table, number);
    else link_entry(table, head_of(packing, table->entries[number].address), number);
}

/* Those that stay are at the front then; returns how many. */
static uint32_t
pack_entries(struct heapprof_address_table *table, const struct heapprof_packing *packing)
{
    uint32_t entry, kept = 0;

    for (entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t address = table->entries[entry].address;
        bool young = young_p(table, entry);
        if (!address || !packing->keep(entry, kept + 1, packing->data)) continue;
        table->entries[++kept].address = address;
        link_packed(table, packing, kept, young);
    }
    return kept;
}

/* The chains of pages and the index are made anew: to take so many out one by one takes longer. */
void
rb_heapprof_address_table_pack(struct heapprof_address_table *table,
                               const struct heapprof_packing *packing)
{
    uint32_t entry, kept;

    if (table->numbers.end == 1) return;
    clear_heads(table, packing);
    table->young = 0;
    kept = pack_entries(table, packing);
    HEAPPROF_NUMBERS_PACK(&table->numbers, table->mem, table->entries, kept);
    rb_heapprof_index_clear(&table->index, table->mem, kept);
    for (entry = 1; entry <= kept; entry++) {
        if (young_p(table, entry)) continue;
        rb_heapprof_index_insert(&table->index, hash_i(table, entry), entry);
    }
}

/* ---- debug ---- */

static uint32_t
link_i(const void *owner, uint32_t number)
{
    const struct heapprof_address_table *table = owner;
    const struct heapprof_address_entry *entry = &table->entries[number];

    return entry->address ? HEAPPROF_NUMBER_USED : entry->next;
}

static void
check_links(const struct heapprof_address_table *table, uint32_t entry)
{
    const struct heapprof_address_entry *linked = &table->entries[entry];

    uint32_t mark = linked->previous & HEAPPROF_ADDRESS_YOUNG, previous = linked->previous & ~mark;

    if (linked->next) HEAPPROF_ASSERT(table->entries[linked->next].previous == (entry | mark));
    if (previous) HEAPPROF_ASSERT(table->entries[previous].next == entry);
    else if (mark) HEAPPROF_ASSERT(table->young == entry);
}

void
rb_heapprof_address_table_check(const struct heapprof_address_table *table)
{
    uint32_t entry, young = 0;

    for (entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t address = table->entries[entry].address;
        if (address == 0) continue;
        bool found = rb_heapprof_address_table_find(table, address) == entry;
        HEAPPROF_ASSERT(found != young_p(table, entry));
        young += !found;
        check_links(table, entry);
    }
    rb_heapprof_numbers_check(&table->numbers, link_i, table);
    rb_heapprof_index_check(&table->index, table->numbers.count - young, hash_i, table);
    HEAPPROF_ASSERT(table->numbers.count == 0 ||
                    rb_heapprof_index_room_p(&table->index, table->numbers.count - 1));
}
