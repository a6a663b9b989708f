#ifndef HEAPPROF_IDENTITIES_H
#define HEAPPROF_IDENTITIES_H
/* Numbers for the heap objects that names come from, iseqs and classes, and for callers of the
 * allocator.
 *
 * A profile outlives the code it is about, and addresses are used again. So each iseq and class
 * gets a number at first sight. The address leads to the number while the object lives, or
 * until memory is short and nobody needs it. Nothing keeps the object alive. The collector
 * tells of its death (died). The number and its name stay until a sweep finds that nobody needs
 * them.
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
    uint32_t  deaths;         /* objects that died since dead code was merged (dead_code.h) */
};

struct heapprof_identity {
    uint32_t name;            /* string; HEAPPROF_UNNAMED: no name yet */
    uint32_t library;         /* string: the library of a caller; 0: not known, or no caller */
    uint32_t next_free;       /* link of a free one. In use: 0, except while dead code is merged
                                 (dead_code.c) */
    bool     used;
    bool     dead;            /* its object has died */
    bool provisional; /* the class had no permanent name yet: ask again at the next snapshot */
    bool     needed;          /* the next sweep keeps it */
};

#define HEAPPROF_UNNAMED UINT32_MAX

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_identities_init(struct heapprof_identities *identities, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init, and counts from 1 again. */
void rb_heapprof_identities_free(struct heapprof_identities *identities);

/* The identity of the live object at address, or 0 if it has none. */
uint32_t rb_heapprof_identities_find(const struct heapprof_identities *identities,
                                     uintptr_t address);

/* Adds an identity, without a name, for an address that has none. Returns 0 if memory is
 * refused. To move the address, the caller uses the address table. */
uint32_t rb_heapprof_identities_add(struct heapprof_identities *identities, uint32_t *page_head,
                                    uintptr_t address);

/* The object of this entry, on page_head's page, has died. Allocates nothing. */
void rb_heapprof_identities_died(struct heapprof_identities *identities, uint32_t *page_head,
                                 uint32_t entry);

/* The identity of that number, for the caller to write its names. */
static inline struct heapprof_identity *
rb_heapprof_identities_change(struct heapprof_identities *identities, uint32_t id)
{
    rb_heapprof_numbers_change(&identities->numbers, id);
    return &identities->all[id];
}

/* How a sweep lets go of living objects whose identities nobody needs. */
struct heapprof_letting_go {
    uint32_t *(*page_head)(uintptr_t address); /* the chain of the object's page */
    void (*forget)(uintptr_t address);         /* called for each object that loses its identity */
};

/* Frees every identity whose needed is not set, and clears needed. Numbers of freed identities are
 * handed out again. Living objects lose theirs, too, and get a new one when they are seen again. If
 * letting_go is NULL, living objects keep theirs. Allocates nothing. Returns how many it freed. */
uint32_t rb_heapprof_identities_sweep(struct heapprof_identities *identities,
                                      const struct heapprof_letting_go *letting_go);

/* Asserts the invariants of identities.c. */
void rb_heapprof_identities_check(const struct heapprof_identities *identities);

#endif
