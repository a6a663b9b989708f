#ifndef HEAPPROF_IDENTITIES_H
#define HEAPPROF_IDENTITIES_H
/* Numbers for the heap objects that names come from: iseqs and classes; and for callers of the allocator.
 *
 * A profile outlives the code it speaks of, and addresses are used again. So each
 * iseq and class gets a number on first sight; the address leads to it for as long as
 * the object lives, or until memory is short and nobody needs it; nothing keeps the object alive. Whoever sees the object die
 * says so; the number and the name that was found for it stay until a
 * sweep finds that nobody needs them.
 */
#include "base/address_table.h"
#include "base/numbers.h"

struct heapprof_identities {
    struct heapprof_address_table addresses;
    uint32_t *ids;            /* identity by address entry */
    size_t    ids_capacity;
    struct heapprof_identity *all; /* by identity; [0] unused */
    struct heapprof_numbers numbers; /* the identities */
    uint32_t  elsewhere;      /* head of the chain of addresses that are on no heap page */
    uint32_t  deaths;         /* of their objects, since dead code was merged (dead_code.h) */
};

struct heapprof_identity {
    uint32_t name;            /* string; HEAPPROF_UNNAMED: no name yet */
    uint32_t library;         /* string: what a caller is in; 0: not known, or no caller */
    uint32_t next_free;       /* link of a free one; of one in use 0, except while dead code is
                                 merged (dead_code.c) */
    bool     used;
    bool     dead;            /* its object has died */
    bool     provisional;     /* the class had no permanent name yet: ask again at the next snapshot */
    bool     needed;          /* sweep keeps it, this once */
};

#define HEAPPROF_UNNAMED UINT32_MAX

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_identities_init(struct heapprof_identities *identities, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init, and counts from 1 again. */
void rb_heapprof_identities_free(struct heapprof_identities *identities);

/* The identity of the live object at address, 0 when it has none. */
uint32_t rb_heapprof_identities_find(const struct heapprof_identities *identities,
                                     uintptr_t address);

/* A new identity, still unnamed, for an address that has none; 0 when memory is refused.
 * To move the address, use the address table. */
uint32_t rb_heapprof_identities_add(struct heapprof_identities *identities, uint32_t *page_head,
                                    uintptr_t address);

/* The object of this entry, on page_head's page, is no more. Allocates nothing. */
void rb_heapprof_identities_died(struct heapprof_identities *identities, uint32_t *page_head, uint32_t entry);

/* The identity of that number, to be given its names. */
static inline struct heapprof_identity *
rb_heapprof_identities_change(struct heapprof_identities *identities, uint32_t id)
{
    rb_heapprof_numbers_change(&identities->numbers, id);
    return &identities->all[id];
}

/* What is done about the objects of identities that nobody needs. */
struct heapprof_letting_go {
    uint32_t *(*page_head)(uintptr_t address); /* the chain of its page */
    void (*forget)(uintptr_t address);         /* told of each that has no identity any more */
};

/* Frees every identity whose needed is not set, and clears needed; the numbers are handed out again.
 * Objects that are alive are forgotten, and given a new identity when they are seen again; with
 * letting_go NULL they keep theirs. Allocates nothing. Returns how many it freed. */
uint32_t rb_heapprof_identities_sweep(struct heapprof_identities *identities,
                                      const struct heapprof_letting_go *letting_go);

/* Asserts the invariants of identities.c. */
void rb_heapprof_identities_check(const struct heapprof_identities *identities);

#endif
