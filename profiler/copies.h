#ifndef HEAPPROF_COPIES_H
#define HEAPPROF_COPIES_H
/* The tables as they are at one moment, for a snapshot: copied in steps, between which the tables may
 * change, then added up to rows (rows.h) from the copies alone.
 *
 *     begin ─ step ─ step ─ ... ─ step           the caller serialises with changes of the tables
 *                                     add up     any thread, no lock
 */
#include "base/still.h"
#include "profiler/snapshot.h"

/* A piece of a block, and whom it counts under. */
struct heapprof_copied_piece {
    struct heapprof_piece piece; /* site 0: none */
    uintptr_t owner;       /* the object that holds it; 0: not known */
    uint32_t  owner_class; /* identity; 0: not known */
    uint32_t  owner_seen;  /* when (blocks.h) */
    uint32_t  owner_stack; /* 0: the owner is not sampled */
    uint32_t  number;      /* of the piece */
};

enum heapprof_copied {
    HEAPPROF_COPIED_STRINGS, HEAPPROF_COPIED_FUNCTIONS, HEAPPROF_COPIED_STACKS,
    HEAPPROF_COPIED_IDENTITIES, HEAPPROF_COPIED_SITES, HEAPPROF_COPIED_SAMPLES,
    HEAPPROF_COPIED_BLOCKS, HEAPPROF_COPIED_TEXT,
    HEAPPROF_COPIED_TABLES
};

struct heapprof_copies {
    const struct heapprof_tables *tables; /* that are copied; NULL: all of them have been */
    struct heapprof_tables *followed;     /* the same, when they tell of changes */
    struct heapprof_asks asks;
    bool ask_memsize;                     /* in this step */
    struct heapprof_still stills[HEAPPROF_COPIED_TABLES];
    struct heapprof_snapshot *snapshot;   /* strings, functions, stacks; and whose account it is */

    struct heapprof_site *sites;          /* by number, below sites_end */
    size_t    sites_capacity;
    uint32_t  sites_end;
    struct heapprof_site folded, folded_blocks;
    struct heapprof_identity *identities;
    size_t    identities_capacity;
    uint32_t  identities_end;
    uint32_t  anonymous;                  /* string: what classes without a name are called; when all is copied */
    struct heapprof_sample *samples;      /* by entry, below samples_end; weight 0: none is alive */
    size_t    samples_capacity;
    uint32_t  samples_end;
    uintptr_t *addresses;                 /* of their objects; NULL without owners */
    size_t    addresses_capacity;
    size_t   *memsizes;                   /* NULL: not asked for */
    size_t    memsizes_capacity;
    struct heapprof_copied_piece *pieces; /* by number; then by site, owner and number */
    size_t    pieces_capacity;
    size_t    piece_count;
};

/* Makes room for copies of the tables as they are now; NULL when there is no memory. facts come
 * from the caller, but for live_samples and folded. asks (NULL: nothing) about each live sample once;
 * blocks are held. Unless follow is called, too, the tables must stay as they are until the last step. */
struct heapprof_copies *rb_heapprof_copies_begin(const struct heapprof_tables *tables,
                                                 const struct heapprof_facts *facts,
                                                 const struct heapprof_asks *asks);

/* The tables, which are those of begin, may change from now on, thinned in steps as well, but for packing, trimming,
 * merging, folding, thinning at once, forgetting owners and freeing: before one of these, all is copied. One at a time may follow. */
void rb_heapprof_copies_follow(struct heapprof_copies *copies, struct heapprof_tables *tables);

/* Copies a little more, some 256 entries; false: that was all. Nobody changes the tables meanwhile, but
 * blocks, which it asks to hold. ask: memsize may be asked for; otherwise, and for what has died since
 * begin, that of a sample is its slot. Asks for no memory. */
bool rb_heapprof_copies_step(struct heapprof_copies *copies, bool ask);

/* When all has been copied: the snapshot, NULL when there is no memory. Frees the copies. */
struct heapprof_snapshot *rb_heapprof_copies_add_up(struct heapprof_copies *copies);

/* Gives up, at any moment at which the tables may be changed. */
void rb_heapprof_copies_free(struct heapprof_copies *copies);

#endif
