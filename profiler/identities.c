/* identities.c - numbers that outlive iseqs and classes.
 *
 *     addresses   entry    1     2     3              while the object lives
 *     ids                  1     5     3
 *
 *     identity    1     2     3     4     5           while somebody needs it
 *     all         "Foo" "Bar" -     free  -           -: HEAPPROF_UNNAMED
 *
 * Here the objects of identities 2 and 4 have died, and 5 took over entry 2. A sweep
 * kept 2, which is the class of some site, and freed 4.
 *
 *   I1  an identity in use is given to nobody else.
 *   I2  the entry of a live object has its identity in ids, and that is in use.
 *   I3  all has room for all identities; a new one is unnamed.
 *   I4  a refused add changes nothing.
 *   I5  an identity in use is dead if and only if it has no entry.
 *
 * The address table moves addresses. ids is indexed by entry number, which a move does not change.
 *
 * The caller serialises. add allocates (mem.c).
 */
#include "profiler/identities.h"

#include "base/check.h"

void
rb_heapprof_identities_init(struct heapprof_identities *identities, struct heapprof_mem *mem)
{
    rb_heapprof_address_table_init(&identities->addresses, mem);
    identities->ids = NULL;
    identities->ids_capacity = 0;
    identities->all = NULL;
    rb_heapprof_numbers_init(&identities->numbers);
    identities->elsewhere = identities->deaths = 0;
}

void
rb_heapprof_identities_free(struct heapprof_identities *identities)
{
    struct heapprof_mem *mem = identities->addresses.mem;

    HEAPPROF_MEM_RELEASE(mem, identities->ids, identities->ids_capacity);
    HEAPPROF_NUMBERS_RELEASE(&identities->numbers, mem, identities->all);
    rb_heapprof_address_table_free(&identities->addresses);
    rb_heapprof_identities_init(identities, mem);
}

uint32_t
rb_heapprof_identities_find(const struct heapprof_identities *identities, uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&identities->addresses, address);

    return entry ? identities->ids[entry] : 0;
}

static uint32_t
take_identity(struct heapprof_identities *identities)
{
    uint32_t id = rb_heapprof_numbers_next(&identities->numbers);

    rb_heapprof_numbers_take(&identities->numbers, &identities->all[id].next_free);
    identities->all[id] = (struct heapprof_identity){ .name = HEAPPROF_UNNAMED, .used = true };
    return id;
}

uint32_t
rb_heapprof_identities_add(struct heapprof_identities *identities, uint32_t *page_head,
                           uintptr_t address)
{
    struct heapprof_mem *mem = identities->addresses.mem;
    size_t next_entry = rb_heapprof_address_table_next_entry(&identities->addresses);
    uint32_t entry;

    if (!HEAPPROF_MEM_GROW(mem, identities->ids, identities->ids_capacity, next_entry + 1) ||
        !HEAPPROF_NUMBERS_RESERVE(&identities->numbers, mem, identities->all)) {
        return 0;
    }
    entry = rb_heapprof_address_table_add(&identities->addresses, page_head, address);
    if (!entry) return 0;

    identities->ids[entry] = take_identity(identities);
    return identities->ids[entry];
}

void
rb_heapprof_identities_died(struct heapprof_identities *identities, uint32_t *page_head,
                            uint32_t entry)
{
    identities->all[identities->ids[entry]].dead = true;
    identities->deaths++;
    rb_heapprof_address_table_remove(&identities->addresses, page_head, entry);
}

/* ---- sweep ---- */

static void
need_living(struct heapprof_identities *identities)
{
    uint32_t entry;

    for (entry = 1; entry < identities->addresses.numbers.end; entry++) {
        if (rb_heapprof_address_table_address(&identities->addresses, entry) == 0) continue;
        identities->all[identities->ids[entry]].needed = true;
    }
}

struct packed {
    struct heapprof_identities *identities;
    const struct heapprof_letting_go *letting_go;
};

static bool
keep_needed(uint32_t entry, uint32_t number, void *data)
{
    const struct packed *packed = data;
    struct heapprof_identities *identities = packed->identities;
    uint32_t id = identities->ids[entry];

    if (!identities->all[id].needed) {
        packed->letting_go->forget(
            rb_heapprof_address_table_address(&identities->addresses, entry));
        return false;
    }
    identities->ids[number] = id;
    return true;
}

static void
let_go(struct heapprof_identities *identities, const struct heapprof_letting_go *letting_go)
{
    struct packed packed = {.identities = identities, .letting_go = letting_go};
    struct heapprof_packing packing = {
        .page_head = letting_go->page_head, .keep = keep_needed, .data = &packed
    };

    rb_heapprof_address_table_pack(&identities->addresses, &packing);
    HEAPPROF_MEM_SHRINK(identities->addresses.mem, identities->ids, identities->ids_capacity,
                        identities->addresses.numbers.end);
}

uint32_t
rb_heapprof_identities_sweep(struct heapprof_identities *identities,
                             const struct heapprof_letting_go *letting_go)
{
    uint32_t id, freed = 0;

    if (letting_go) let_go(identities, letting_go);
    else need_living(identities);
    for (id = 1; id < identities->numbers.end; id++) {
        struct heapprof_identity *identity = &identities->all[id];
        if (identity->used && !identity->needed) {
            identity->used = false;
            rb_heapprof_numbers_give_back(&identities->numbers, id, &identity->next_free);
            freed++;
        }
        identity->needed = false;
    }
    return freed;
}

/* ---- debug ---- */

static uint32_t
link_i(const void *owner, uint32_t id)
{
    const struct heapprof_identities *identities = owner;
    const struct heapprof_identity *identity = &identities->all[id];

    return identity->used ? HEAPPROF_NUMBER_USED : identity->next_free;
}

void
rb_heapprof_identities_check(const struct heapprof_identities *identities)
{
    uint32_t entry, id, living = 0;

    rb_heapprof_address_table_check(&identities->addresses);
    for (entry = 1; entry < identities->addresses.numbers.end; entry++) {
        if (rb_heapprof_address_table_address(&identities->addresses, entry) == 0) continue;
        HEAPPROF_ASSERT(entry < identities->ids_capacity);
        id = identities->ids[entry];
        HEAPPROF_ASSERT(id >= 1 && id < identities->numbers.end);
        HEAPPROF_ASSERT(identities->all[id].used && !identities->all[id].dead);
    }
    for (id = 1; id < identities->numbers.end; id++) {
        const struct heapprof_identity *identity = &identities->all[id];
        HEAPPROF_ASSERT(!identity->used || identity->next_free == 0);
        living += identity->used && !identity->dead;
    }
    HEAPPROF_ASSERT(living == identities->addresses.numbers.count);
    rb_heapprof_numbers_check(&identities->numbers, link_i, identities);
}
