/* address_table.c - entries by address, chained by heap page.
 *
 *   page heads (the caller's)   entries                      index
 *                                 1  0x7f..40   next 3       hash(0x7f..40) -> 1
 *   page A -> 1 -> 3              2  free       next 0       hash(0x7f..90) -> 3
 *   page B -> 4                   3  0x7f..90   previous 1   hash(0x80..00) -> 4
 *   free   -> 2                   4  0x80..00
 *
 *   I1  an address is in one entry at most, and the index leads to it.
 *   I2  each entry below entries_end is in use, and on the chain of its page, or
 *       free, and on the free chain.
 *   I3  next and previous of neighbours name each other.
 *   I4  an entry keeps its number through moves, so arrays beside the table stay
 *       right without being told.
 *
 * A chain is doubly linked so that a move, which knows the entry and not its
 * neighbours, is O(1).
 *
 * The caller serialises. Only add allocates (mem.c). find, move and remove may run
 * inside a sweep or a compaction.
 */
#include "base/address_table.h"

#include <string.h>

#include "base/check.h"

static uint64_t
hash_i(const void *owner, uint32_t entry)
{
    return rb_heapprof_index_hash(
        ((const struct heapprof_address_table *)owner)->entries[entry].address);
}

/* ---- chains ---- */

static void
link_entry(struct heapprof_address_table *table, uint32_t *page_head, uint32_t entry)
{
    struct heapprof_address_entry *linked = &table->entries[entry];

    linked->next = *page_head;
    linked->previous = 0;
    if (linked->next) table->entries[linked->next].previous = entry;
    *page_head = entry;
}

static void
unlink_entry(struct heapprof_address_table *table, uint32_t *page_head, uint32_t entry)
{
    struct heapprof_address_entry *linked = &table->entries[entry];

    HEAPPROF_ASSERT(linked->previous || *page_head == entry);
    if (linked->next) table->entries[linked->next].previous = linked->previous;
    if (linked->previous) {
        table->entries[linked->previous].next = linked->next;
    }
    else {
        *page_head = linked->next;
    }
}

static uint32_t
take_entry(struct heapprof_address_table *table)
{
    uint32_t entry = rb_heapprof_address_table_next_entry(table);

    if (table->free_head) {
        table->free_head = table->entries[entry].next;
    }
    else {
        table->entries_end++;
    }
    table->count++;
    return entry;
}

/* ---- life ---- */

void
rb_heapprof_address_table_init(struct heapprof_address_table *table, struct heapprof_mem *mem)
{
    memset(table, 0, sizeof(*table));
    table->mem = mem;
    table->entries_end = 1;
}

void
rb_heapprof_address_table_free(struct heapprof_address_table *table)
{
    HEAPPROF_MEM_RELEASE(table->mem, table->entries, table->entries_capacity);
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
    if (!HEAPPROF_MEM_GROW(table->mem, table->entries, table->entries_capacity,
                           (size_t)rb_heapprof_address_table_next_entry(table) + 1)) return 0;
    if (!rb_heapprof_index_reserve(&table->index, table->mem, table->count, hash_i, table)) {
        return 0;
    }

    entry = take_entry(table);
    table->entries[entry].address = address;
    link_entry(table, page_head, entry);
    rb_heapprof_index_insert(&table->index, hash_i(table, entry), entry);
    return entry;
}

bool
rb_heapprof_address_table_reserve(struct heapprof_address_table *table, uint32_t count)
{
    size_t most = (size_t)table->count + count;

    if (!HEAPPROF_MEM_GROW(table->mem, table->entries, table->entries_capacity,
                           (size_t)table->entries_end + count)) return false;
    while (!rb_heapprof_index_room_p(&table->index, most)) { /* which doubles */
        if (!rb_heapprof_index_reserve(&table->index, table->mem, most, hash_i, table)) return false;
    }
    return true;
}

bool
rb_heapprof_address_table_room_p(const struct heapprof_address_table *table)
{
    return rb_heapprof_address_table_next_entry(table) < table->entries_capacity &&
           rb_heapprof_index_room_p(&table->index, table->count);
}

uint32_t
rb_heapprof_address_table_find(const struct heapprof_address_table *table, uintptr_t address)
{
    uint64_t probe = rb_heapprof_index_hash(address);
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
    rb_heapprof_index_erase(&table->index, entry, hash_i, table);
    unlink_entry(table, page_head, entry);
    removed->address = 0;
    removed->previous = 0;
    removed->next = table->free_head;
    table->free_head = entry;
    table->count--;
}

/* ---- debug ---- */

static void
check_links(const struct heapprof_address_table *table, uint32_t entry)
{
    const struct heapprof_address_entry *linked = &table->entries[entry];

    if (linked->next) HEAPPROF_ASSERT(table->entries[linked->next].previous == entry);
    if (linked->previous) HEAPPROF_ASSERT(table->entries[linked->previous].next == entry);
}

void
rb_heapprof_address_table_check(const struct heapprof_address_table *table)
{
    uint32_t entry, used = 0, free_entries = 0;

    for (entry = 1; entry < table->entries_end; entry++) {
        uintptr_t address = table->entries[entry].address;
        if (address == 0) continue;
        HEAPPROF_ASSERT(rb_heapprof_address_table_find(table, address) == entry);
        check_links(table, entry);
        used++;
    }
    for (entry = table->free_head; entry; entry = table->entries[entry].next) {
        HEAPPROF_ASSERT(entry < table->entries_end && table->entries[entry].address == 0);
        free_entries++;
        HEAPPROF_ASSERT(free_entries < table->entries_end);
    }
    HEAPPROF_ASSERT(used == table->count);
    HEAPPROF_ASSERT(used + free_entries + 1 == table->entries_end);
    rb_heapprof_index_check(&table->index, table->count, hash_i, table);
}
