/* live_table.c - which sampled objects are alive, and what each stands for.
 *
 *     addresses  entry   1      2      3      4       (address_table.c)
 *     samples            {..}   free   {..}   {..}    same numbers
 *
 *   I1  samples has room for every entry handed out.
 *   I2  the sample of an entry in use stands for at least one object and has a size.
 *   I3  a refused add changes nothing: room in samples is made before the address
 *       is entered, and room alone is no change.
 *
 * A free needs no work here: the entry leaves the address table, and its sample is written over
 * when the number is used again. So there is no remove, and no move.
 *
 * The caller serialises. add allocates (mem.c). It runs when a pending sample is resolved,
 * which may be inside a GC.
 */
#include "profiler/live_table.h"

#include "base/check.h"

void
rb_heapprof_live_table_init(struct heapprof_live_table *table, struct heapprof_mem *mem)
{
    rb_heapprof_address_table_init(&table->addresses, mem);
    table->samples = NULL;
    table->samples_capacity = 0;
}

void
rb_heapprof_live_table_free(struct heapprof_live_table *table)
{
    HEAPPROF_MEM_RELEASE(table->addresses.mem, table->samples, table->samples_capacity);
    rb_heapprof_address_table_free(&table->addresses);
}

bool
rb_heapprof_live_table_reserve(struct heapprof_live_table *table, uint32_t count)
{
    size_t end = (size_t)table->addresses.numbers.count + count + 1;

    return rb_heapprof_address_table_reserve(&table->addresses, count) &&
           HEAPPROF_MEM_GROW(table->addresses.mem, table->samples, table->samples_capacity, end);
}

uint32_t
rb_heapprof_live_table_add(struct heapprof_live_table *table, uint32_t *page_head,
                           uintptr_t address, const struct heapprof_sample *sample)
{
    size_t next_entry = rb_heapprof_address_table_next_entry(&table->addresses);
    uint32_t entry;

    if (!HEAPPROF_MEM_GROW(table->addresses.mem, table->samples, table->samples_capacity,
                           next_entry + 1)) return 0;
    entry = rb_heapprof_address_table_add(&table->addresses, page_head, address);
    if (entry) table->samples[entry] = *sample;
    return entry;
}

/* ---- packing ---- */

struct following {
    struct heapprof_live_table *table;
    const struct heapprof_packing *packing;
};

static bool
follow(uint32_t entry, uint32_t number, void *data)
{
    const struct following *following = data;
    struct heapprof_sample *samples = following->table->samples;

    if (!following->packing->keep(entry, number, following->packing->data)) return false;
    samples[number] = samples[entry];
    return true;
}

void
rb_heapprof_live_table_pack(struct heapprof_live_table *table,
                            const struct heapprof_packing *packing)
{
    struct following following = {.table = table, .packing = packing};
    struct heapprof_packing both = {
        .page_head = packing->page_head, .keep = follow, .data = &following
    };

    rb_heapprof_address_table_pack(&table->addresses, &both);
    HEAPPROF_MEM_SHRINK(table->addresses.mem, table->samples, table->samples_capacity,
                        table->addresses.numbers.end);
}

void
rb_heapprof_live_table_check(const struct heapprof_live_table *table)
{
    uint32_t entry;

    rb_heapprof_address_table_check(&table->addresses);
    for (entry = 1; entry < table->addresses.numbers.end; entry++) {
        if (rb_heapprof_address_table_address(&table->addresses, entry) == 0) continue;
        HEAPPROF_ASSERT(entry < table->samples_capacity);
        HEAPPROF_ASSERT(table->samples[entry].weight >= 1);
        HEAPPROF_ASSERT(table->samples[entry].birth_bytes > 0 &&
                        table->samples[entry].slot_bytes > 0);
    }
}
