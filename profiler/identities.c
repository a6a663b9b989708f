/* identities.c - numbers that outlive iseqs and classes.
 *
 *     addresses   entry    1     2     3              while the object lives
 *     ids                  1     5     3
 *
 *     identity    1     2     3     4     5           for ever
 *     names       "Foo" "Bar" -     "Baz" -           -: HEAPPROF_UNNAMED
 *
 * Here the objects of identities 2 and 4 have died, and 5 took over entry 2.
 *
 *   I1  identities are given out in order, and never twice: 1..count. Names grow
 *       with them, so memory ends long before 32 bits do.
 *   I2  the entry of a live object has its identity in ids.
 *   I3  names has room for all identities; a new one is unnamed.
 *   I4  a refused add changes nothing, count included.
 *
 * Removing and moving addresses is the address table's work; ids is by entry
 * number, which a move does not change.
 *
 * The caller serialises. add allocates (mem.c).
 */
#include "identities.h"

#include "check.h"

void
rb_heapprof_identities_init(struct heapprof_identities *identities, struct heapprof_mem *mem)
{
    rb_heapprof_address_table_init(&identities->addresses, mem);
    identities->ids = NULL;
    identities->ids_capacity = 0;
    identities->names = NULL;
    identities->names_capacity = 0;
    identities->count = 0;
}

void
rb_heapprof_identities_free(struct heapprof_identities *identities)
{
    struct heapprof_mem *mem = identities->addresses.mem;

    HEAPPROF_MEM_RELEASE(mem, identities->ids, identities->ids_capacity);
    HEAPPROF_MEM_RELEASE(mem, identities->names, identities->names_capacity);
    rb_heapprof_address_table_free(&identities->addresses);
    rb_heapprof_identities_init(identities, mem);
}

uint32_t
rb_heapprof_identities_find(const struct heapprof_identities *identities, uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&identities->addresses, address);

    return entry ? identities->ids[entry] : 0;
}

uint32_t
rb_heapprof_identities_add(struct heapprof_identities *identities, uint32_t *page_head,
                           uintptr_t address)
{
    struct heapprof_mem *mem = identities->addresses.mem;
    size_t next_entry = rb_heapprof_address_table_next_entry(&identities->addresses);
    size_t next_id = (size_t)identities->count + 1;
    uint32_t entry;

    if (!HEAPPROF_MEM_GROW(mem, identities->ids, identities->ids_capacity, next_entry + 1) ||
        !HEAPPROF_MEM_GROW(mem, identities->names, identities->names_capacity, next_id + 1)) {
        return 0;
    }
    entry = rb_heapprof_address_table_add(&identities->addresses, page_head, address);
    if (!entry) return 0;

    identities->count = (uint32_t)next_id;
    identities->ids[entry] = identities->count;
    identities->names[identities->count] = HEAPPROF_UNNAMED;
    return identities->count;
}

void
rb_heapprof_identities_check(const struct heapprof_identities *identities)
{
    uint32_t entry;

    rb_heapprof_address_table_check(&identities->addresses);
    HEAPPROF_ASSERT(identities->count == 0 || identities->count < identities->names_capacity);
    for (entry = 1; entry < identities->addresses.entries_end; entry++) {
        if (rb_heapprof_address_table_address(&identities->addresses, entry) == 0) continue;
        HEAPPROF_ASSERT(entry < identities->ids_capacity);
        HEAPPROF_ASSERT(identities->ids[entry] >= 1 && identities->ids[entry] <= identities->count);
    }
}
