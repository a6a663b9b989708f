#ifndef HEAPPROF_COPIES_H
#define HEAPPROF_COPIES_H
/* The tables as they are at one moment, for a snapshot. They are copied in steps, and may
 * change between two steps. Rows (rows.h) are then added up from the copies alone.
 * doc/design/copies.md has the whole story.
 *
 *     begin ─ step ─ step ─ ... ─ step           the caller serialises with changes of the tables
 *                                     add up     any thread, no lock
 */
#include "base/still.h"
#include "profiler/snapshot.h"

/* A piece of a block, and the owner that it counts for. */
struct heapprof_copied_piece {
    struct heapprof_piece piece; /* site 0: not in use */
    uintptr_t owner;       /* the object that holds it; 0: not known */
    uint32_t  owner_class; /* identity; 0: not known */
    uint32_t  owner_seen;  /* when the owner was seen (blocks.h) */
    uint32_t  owner_stack; /* 0: the owner is not sampled */
    uint32_t  number;      /* the piece's number */
};

enum heapprof_copied {
    HEAPPROF_COPIED_STRINGS, HEAPPROF_COPIED_FUNCTIONS, HEAPPROF_COPIED_STACKS,
    HEAPPROF_COPIED_IDENTITIES, HEAPPROF_COPIED_SITES, HEAPPROF_COPIED_SAMPLES,
    HEAPPROF_COPIED_BLOCKS, HEAPPROF_COPIED_TEXT,
    HEAPPROF_COPIED_TABLES
};

struct heapprof_copies {
    const struct heapprof_tables *tables; /* the tables that are copied; NULL: all is copied */
    struct heapprof_tables *followed;     /* the same tables, if they tell of changes */
    struct heapprof_asks asks;
    bool ask_memsize;                     /* this step may ask for memsizes */
    struct heapprof_still stills[HEAPPROF_COPIED_TABLES];
    struct heapprof_snapshot *snapshot;   /* has strings, functions and stacks, and the account */

    struct heapprof_site *sites;          /* by number, below sites_end */
    size_t    sites_capacity;
    uint32_t  sites_end;
    struct heapprof_site folded, folded_blocks;
    bool gone;                            /* some samples are dead, though not swept */
    struct heapprof_deaths *deaths;       /* by site; NULL: they are not counted */
    size_t    deaths_capacity;
    struct heapprof_deaths folded_deaths, folded_block_deaths;
    struct heapprof_sum *peaks;           /* by site; NULL: there is none */
    size_t    peaks_capacity;
    struct heapprof_sum gone_peak, gone_block_peak;
    struct heapprof_identity *identities;
    size_t    identities_capacity;
    uint32_t  identities_end;
    uint32_t  anonymous;                  /* string: the name of classes without one; set at the
                                             end */
    struct heapprof_sample *samples;      /* by entry, below samples_end; weight 0: not alive. Below
                                             0: dead, though not swept, and deaths are counted */
    size_t    samples_capacity;
    uint32_t  samples_end;
    uintptr_t *addresses;                 /* the samples' objects; NULL without owners */
    size_t    addresses_capacity;
    size_t   *memsizes;                   /* by entry; NULL: not asked for */
    size_t    memsizes_capacity;
    struct heapprof_copied_piece *pieces; /* by number; once sorted, by site, owner and number */
    size_t    pieces_capacity;
    size_t    piece_count;
};

/* Makes room for copies of the tables as they are at this moment. Returns NULL if there is no
 * memory. The caller gives the facts, except live_samples and folded. asks (NULL: ask nothing)
 * is called once for each live sample. The caller holds blocks. The tables must stay as they
 * are until the last step, unless follow is called. */
struct heapprof_copies *rb_heapprof_copies_begin(const struct heapprof_tables *tables,
                                                 const struct heapprof_facts *facts,
                                                 const struct heapprof_asks *asks);

/* From here on the tables, which are those of begin, may change. They may also be thinned in steps.
 * Before packing, trimming, merging, folding, thinning at once, forgetting owners or freeing, the
 * caller finishes the copies. Only one copy at a time may follow the tables. */
void rb_heapprof_copies_follow(struct heapprof_copies *copies, struct heapprof_tables *tables);

/* Copies about 256 more entries. Returns false if all is copied. No thread changes the tables
 * during the call, except blocks, which the call locks (asks). With ask, memsizes may be asked
 * for. Without ask, a sample's memsize is its slot. The same holds for objects that have died
 * since begin. Asks for no memory. */
bool rb_heapprof_copies_step(struct heapprof_copies *copies, bool ask);

/* Copies what takes longest, the stacks. Any thread may do so, without a lock, while the tables
 * change or others copy on. */
void rb_heapprof_copies_copy_beside(struct heapprof_copies *copies);

/* In a copy of the process, where the thread that copied is not. Comes before the next step. */
void rb_heapprof_copies_alone(struct heapprof_copies *copies);

/* Copies all sites at once. Comes before another moment becomes the peak. */
void rb_heapprof_copies_take_sites(struct heapprof_copies *copies);

/* Makes the snapshot, once all is copied. Returns NULL if there is no memory. Frees the copies. */
struct heapprof_snapshot *rb_heapprof_copies_add_up(struct heapprof_copies *copies);

/* Gives the copies up, at any moment at which the tables may be changed. */
void rb_heapprof_copies_free(struct heapprof_copies *copies);

#endif
