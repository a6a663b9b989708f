#ifndef HEAPPROF_LADDER_H
#define HEAPPROF_LADDER_H
/* What the resident memory of the process (RSS) consists of, rung by rung. The rungs add up to rss
 * exactly. No byte is in two of them. doc/rss.md says what each rung is.
 */
#include "os/allocator.h"
#include "os/smaps.h"

struct heapprof_snapshot;

/* A rung's name, and what it is called in a profile. */
#define HEAPPROF_RUNGS(R) \
    R(slots, "slots") \
    R(free_slots, "free slots") \
    R(page_overhead, "page overhead") \
    R(iseqs, "iseqs") \
    R(method_tables, "method tables") \
    R(symbols, "symbol table") \
    R(malloc, "malloc") \
    R(allocator_slack, "allocator slack") \
    R(stacks, "VM and machine stacks") \
    R(jit_code, "JIT code") \
    R(profiler, "profiler") \
    R(files, "files") \
    R(unexplained, "unexplained")

struct heapprof_ladder {
    uint64_t rss;           /* 0: the system does not tell */
    /* Not rungs: parts of which stacks and malloc are computed. */
    uint64_t block_stacks;  /* the part of stacks that is in blocks of the allocator, in memory */
    uint64_t vm_stacks;     /* the same stacks, in memory or not */
    uint64_t absent_blocks; /* bytes in other blocks of the allocator that are not in memory */
    /* Not rungs: how much a snapshot's samples stand for beyond the rungs. */
    uint64_t samples_absent; /* because it is not in memory */
    uint64_t samples_excess; /* because the estimate is too high */
#define HEAPPROF_RUNG_FIELD(name, title) uint64_t name;
    HEAPPROF_RUNGS(HEAPPROF_RUNG_FIELD)
#undef HEAPPROF_RUNG_FIELD
};

/* What some blocks of the allocator are known to hold, in bytes, in memory or not. */
struct heapprof_code {
    uint64_t iseqs;
    uint64_t method_tables;
    uint64_t symbols;
    uint64_t vm_stacks;
};

/* What has been measured, in bytes in memory unless a comment says otherwise. */
struct heapprof_measured {
    struct heapprof_mappings mappings; /* what the kernel says: all mappings, by kind */

    /* Known by address: parts of mappings.anonymous. */
    uint64_t slots;
    uint64_t free_slots;
    uint64_t page_padding;
    uint64_t stacks;           /* of threads and fibers, except those in blocks */
    uint64_t block_stacks;     /* the part of code.vm_stacks that is in memory */
    uint64_t profiler;
    uint64_t bss;              /* zeroed data of libraries */

    /* What the allocator says, in memory or not. */
    struct heapprof_allocator allocator;
    uint64_t sampled_blocks;   /* in use, as the samples estimate it */
    uint64_t other_blocks;     /* known to be in use, and not sampled */

    /* Parts of blocks, in memory or not. */
    struct heapprof_code code;
    uint64_t page_descriptors;
};

/* Computes the ladder from what has been measured. */
struct heapprof_ladder rb_heapprof_ladder_build(const struct heapprof_measured *measured);

/* Adds a row for each rung to a snapshot, so that the resident bytes of all rows together are
 * ladder->rss. Keeps the ladder in the snapshot. Returns false if there is no memory; the snapshot
 * can then only be freed. */
bool rb_heapprof_ladder_add_rows(struct heapprof_snapshot *snapshot,
                                 const struct heapprof_ladder *ladder);

#endif
