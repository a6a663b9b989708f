#ifndef HEAPPROF_LIVE_TABLE_H
#define HEAPPROF_LIVE_TABLE_H
/* The sampled objects that are alive: an address table, and beside it what each sample stands for.
 * Each sample has its own weight, so that earlier samples stay right when the interval changes. */
#include "base/address_table.h"

struct heapprof_sample {
    uint32_t site;        /* the stack that allocated it, and its class (sites.h) */
    uint32_t birth_gc;    /* GC count when it was allocated, low 32 bits */
    float    weight;      /* objects it stands for; relative error < 6e-8, exact for 1 */
    uint16_t birth_bytes; /* size of its slot at birth, which weight belongs to */
    uint16_t slot_bytes;  /* size of its slot: compaction may move it to another size */
};

struct heapprof_live_table {
    struct heapprof_address_table addresses;
    struct heapprof_sample *samples; /* by entry number */
    size_t samples_capacity;
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_live_table_init(struct heapprof_live_table *table, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_live_table_free(struct heapprof_live_table *table);

/* Makes room for count more samples. Returns false if memory is refused. */
bool rb_heapprof_live_table_reserve(struct heapprof_live_table *table, uint32_t count);

/* Enters a sample. Returns its entry, or 0 if memory is refused. To find, move, settle or remove a
 * sample, the caller uses the address table. */
uint32_t rb_heapprof_live_table_add(struct heapprof_live_table *table, uint32_t *page_head,
                                    uintptr_t address, const struct heapprof_sample *sample);

/* Whether there is room for one more sample. */
static inline bool
rb_heapprof_live_table_room_p(const struct heapprof_live_table *table)
{
    return rb_heapprof_address_table_room_p(&table->addresses) &&
           rb_heapprof_address_table_next_entry(&table->addresses) < table->samples_capacity;
}

/* Enters a sample as young (address_table.h). Returns its entry, or 0 if memory is refused. Inline,
 * for most samples are entered so. */
static inline uint32_t
rb_heapprof_live_table_add_young(struct heapprof_live_table *table, uintptr_t address,
                                 const struct heapprof_sample *sample)
{
    if (!rb_heapprof_live_table_room_p(table) && !rb_heapprof_live_table_reserve(table, 1))
        return 0;
    uint32_t entry = rb_heapprof_address_table_add_young(&table->addresses, address);
    table->samples[entry] = *sample;
    return entry;
}

/* The sample of an entry that is in use. */
static inline struct heapprof_sample *
rb_heapprof_live_table_sample(const struct heapprof_live_table *table, uint32_t entry)
{
    return &table->samples[entry];
}

/* Packs as rb_heapprof_address_table_pack does, and the samples follow. keep may change the
 * sample of its entry. */
void rb_heapprof_live_table_pack(struct heapprof_live_table *table,
                                 const struct heapprof_packing *packing);

/* Asserts the invariants of live_table.c. */
void rb_heapprof_live_table_check(const struct heapprof_live_table *table);

#endif
