#ifndef HEAPPROF_ADDRESS_TABLE_H
#define HEAPPROF_ADDRESS_TABLE_H
/* Which objects are known, by address, and grouped by the heap page they lie on.
 *
 *     page head -> entry <-> entry <-> entry     (one chain a heap page)
 *     hash(address) -> entry                     (open addressing, no tombstones)
 *
 * A sweep of a page asks only that page's chain. A move changes the key in place. The caller owns
 * the page heads (uint32_t, 0: empty chain) and passes the one that the address belongs to.
 * Entries are numbered from 1, and the number of a removed entry is used again. What the owner
 * wants to know about an address is in its own arrays, indexed by entry number.
 *
 * An entry may be young: it is in use like any other, but on no page's chain, and find does not
 * find it. To enter it and to remove it costs less. So an owner whose addresses mostly die early
 * enters them as young, and settles those that do not.
 *
 *     young -> entry <-> entry <-> entry         (one chain for the table)
 *
 * Only add and reserve allocate. The rest may run anywhere in the collector.
 */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_address_entry {
    uintptr_t address;   /* 0: the entry is free */
    uint32_t  next;      /* in its chain; 0: last. Of a free entry: its link */
    uint32_t  previous;  /* in its chain; 0: first, the head names this entry. A bit of it says
                            that the entry is young */
};

/* A bit of previous. Numbers are below it (numbers.h). */
#define HEAPPROF_ADDRESS_YOUNG (UINT32_C(1) << 31)

struct heapprof_address_table {
    struct heapprof_mem *mem;
    struct heapprof_address_entry *entries; /* [0] unused */
    struct heapprof_numbers numbers;
    struct heapprof_index index; /* address -> entry; without young ones, but with room for them */
    uint32_t young;              /* head of the chain of young entries */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_address_table_init(struct heapprof_address_table *table, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. The caller clears its
 * page heads. */
void rb_heapprof_address_table_free(struct heapprof_address_table *table);

/* Adds an address, which is not 0 and not in the table. Returns the new entry's number, or 0 if
 * memory is refused. */
uint32_t rb_heapprof_address_table_add(struct heapprof_address_table *table, uint32_t *page_head,
                                       uintptr_t address);

/* Makes room for count more entries. Returns false if memory is refused. */
bool rb_heapprof_address_table_reserve(struct heapprof_address_table *table, uint32_t count);

/* Whether there is room for one more entry. */
static inline bool
rb_heapprof_address_table_room_p(const struct heapprof_address_table *table)
{
    return rb_heapprof_numbers_room_p(&table->numbers) &&
           rb_heapprof_index_room_p(&table->index, table->numbers.count);
}

/* The number that the next add will give, if memory is not refused. The owner makes room for it
 * in its own arrays first. */
static inline uint32_t
rb_heapprof_address_table_next_entry(const struct heapprof_address_table *table)
{
    return rb_heapprof_numbers_next(&table->numbers);
}

/* Adds an address as young, as add does. There must be room. */
static inline uint32_t
rb_heapprof_address_table_add_young(struct heapprof_address_table *table, uintptr_t address)
{
    uint32_t number = rb_heapprof_numbers_next(&table->numbers);
    struct heapprof_address_entry *entry = &table->entries[number];

    rb_heapprof_numbers_take(&table->numbers, &entry->next);
    *entry = (struct heapprof_address_entry){address, table->young, HEAPPROF_ADDRESS_YOUNG};
    if (table->young) table->entries[table->young].previous = number | HEAPPROF_ADDRESS_YOUNG;
    return table->young = number;
}

/* Removes the first young entry, as remove does. */
static inline void
rb_heapprof_address_table_remove_young(struct heapprof_address_table *table)
{
    uint32_t number = table->young;
    struct heapprof_address_entry *entry = &table->entries[number];

    rb_heapprof_numbers_change(&table->numbers, number);
    table->young = entry->next;
    if (entry->next) table->entries[entry->next].previous = HEAPPROF_ADDRESS_YOUNG;
    entry->address = 0;
    entry->previous = 0;
    rb_heapprof_numbers_give_back(&table->numbers, number, &entry->next);
}

/* A young entry is young no more. It goes to the chain of page_head, and is found. */
void rb_heapprof_address_table_settle(struct heapprof_address_table *table, uint32_t *page_head,
                                      uint32_t entry);

/* The number of an entry that is not young, or 0. */
uint32_t rb_heapprof_address_table_find(const struct heapprof_address_table *table,
                                        uintptr_t address);

/* The object of this entry, which is not young, has moved to address, where no other entry is, on
 * the page whose chain is to_head (which may be from_head). */
void rb_heapprof_address_table_move(struct heapprof_address_table *table, uint32_t entry,
                                    uint32_t *from_head, uint32_t *to_head, uintptr_t address);

/* The object of this entry, on page_head's page, has died. If the entry is young, page_head is not
 * used. Clears the entry: the caller asks for the next entry of a chain before it removes this
 * one. */
void rb_heapprof_address_table_remove(struct heapprof_address_table *table, uint32_t *page_head,
                                      uint32_t entry);

/* How a table is packed, by its owner. */
struct heapprof_packing {
    uint32_t *(*page_head)(
        uintptr_t address); /* the chain of its page; NULL: head has all entries */
    uint32_t *head;                            /* the only chain, if page_head is NULL */
    bool (*keep)(uint32_t entry, uint32_t number, void *data); /* does the entry stay, as number? */
    void *data;
};

/* Asks keep of each entry, in the order of their numbers, whether it stays. Those that stay are
 * numbered anew, from 1, in the same order, and young ones stay young. The owner's arrays follow in
 * keep, which may not use the table. Gives memory back that is not needed then. */
void rb_heapprof_address_table_pack(struct heapprof_address_table *table,
                                    const struct heapprof_packing *packing);

/* Asserts the invariants of address_table.c. */
void rb_heapprof_address_table_check(const struct heapprof_address_table *table);

/* The entry after this one in its chain, 0 after the last. */
static inline uint32_t
rb_heapprof_address_table_next(const struct heapprof_address_table *table, uint32_t entry)
{
    return table->entries[entry].next;
}

/* Where the object of an entry in use lives. */
static inline uintptr_t
rb_heapprof_address_table_address(const struct heapprof_address_table *table, uint32_t entry)
{
    return table->entries[entry].address;
}

#endif
