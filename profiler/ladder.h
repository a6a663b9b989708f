#ifndef HEAPPROF_LADDER_H
#define HEAPPROF_LADDER_H
/* What the resident memory of the process (RSS) consists of, rung by rung. The rungs add up to
 * rss exactly; no byte is in two of them. doc/rss.md says what each one is.
 */
#include "os/allocator.h"
#include "os/smaps.h"

struct heapprof_snapshot;

/* name, and what it is called in a profile */
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
    uint64_t rss;           /* 0: not to be known here */
    /* no rungs, but how stacks and malloc come about: */
    uint64_t block_stacks;  /* part of stacks: in blocks of the allocator, in memory */
    uint64_t vm_stacks;     /* these, in memory or not */
    uint64_t absent_blocks; /* asked of the allocator, and not in memory; without those */
    /* nor these, but how much a snapshot's samples stand for beyond the rungs: */
    uint64_t samples_absent; /* not in memory */
    uint64_t samples_excess; /* estimated too high */
#define HEAPPROF_RUNG_FIELD(name, title) uint64_t name;
    HEAPPROF_RUNGS(HEAPPROF_RUNG_FIELD)
#undef HEAPPROF_RUNG_FIELD
};

/* What blocks of the allocator are known to be of, in bytes, in memory or not. */
struct heapprof_code {
    uint64_t iseqs;
    uint64_t method_tables;
    uint64_t symbols;
    uint64_t vm_stacks;
};

/* What has been measured, in bytes in memory unless it says otherwise. */
struct heapprof_measured {
    struct heapprof_mappings mappings; /* by the kernel: all of them, and what they are of */

    /* by address: parts of mappings.anonymous */
    uint64_t slots;
    uint64_t free_slots;
    uint64_t page_padding;
    uint64_t stacks;           /* of threads and fibers, but for those in blocks */
    uint64_t block_stacks;     /* code.vm_stacks, what is in memory of them */
    uint64_t profiler;
    uint64_t bss;              /* zeroed data of libraries */

    /* by the allocator, in memory or not */
    struct heapprof_allocator allocator;
    uint64_t sampled_blocks;   /* in use, as the samples have it */
    uint64_t other_blocks;     /* those known to be in use and in no sample */

    /* parts of blocks, in memory or not */
    struct heapprof_code code;
    uint64_t page_descriptors;
};

/* The ladder of what has been measured. */
struct heapprof_ladder rb_heapprof_ladder_build(const struct heapprof_measured *measured);

/* Adds a row for each rung to a snapshot, so that the resident bytes of all rows together are
 * ladder->rss, and keeps the ladder in it. False when there is no memory; the snapshot is then
 * good to be freed. */
bool rb_heapprof_ladder_add_rows(struct heapprof_snapshot *snapshot,
                                 const struct heapprof_ladder *ladder);

#endif
