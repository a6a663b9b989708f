#ifndef HEAPPROF_LOST_H
#define HEAPPROF_LOST_H
/* Which blocks of the allocator no pointer leads to any more. lost.c has the rules.
 *
 *     init -> add, add_range -> sort -> root, once for each range that may hold pointers -> settle
 *
 * One thread uses it. The process's memory may change meanwhile, but the result then gets no
 * better. */
#include "base/index.h"

/* From the worst to the best. A block's fate is given by the best way to it. */
enum heapprof_fate {
    HEAPPROF_UNSEEN,    /* before settle */
    HEAPPROF_LOST,      /* no pointer leads to it */
    HEAPPROF_INDIRECT,  /* only what is lost leads to it */
    HEAPPROF_POSSIBLE,  /* only pointers into its middle lead to it, or to what leads to it */
    HEAPPROF_REACHABLE
};

struct heapprof_lost_block {
    uintptr_t address;
    size_t    bytes;
    uint32_t  site;
    enum heapprof_fate fate;
    uint32_t  leader;   /* for an indirect block: the place of the lost block it belongs to */
    bool      open;     /* in settle and uncover: its fate is to be decided */
};

/* A range of memory that is not a root. */
struct heapprof_lost_range {
    uintptr_t begin, end;
    bool      heap;     /* has glibc's blocks. An unknown one is read when a pointer leads to it */
};

struct heapprof_lost_other; /* a block that is not among the known ones */

struct heapprof_lost {
    struct heapprof_mem *mem;
    int       fd;                      /* to read memory through (os/peek.h) */
    uintptr_t freed_key; /* second word of blocks in glibc's caches of freed ones; 0: not known */
    struct heapprof_lost_block *blocks; /* by address, after sort */
    size_t    blocks_capacity, block_count;
    struct heapprof_lost_range *ranges; /* by address, after sort */
    size_t    ranges_capacity, range_count;
    uintptr_t least, most;             /* all blocks and heaps lie between these; after sort */
    struct heapprof_lost_other *others;
    size_t    others_capacity;
    uint32_t  other_count;
    struct heapprof_index others_index; /* address -> place + 1 */
    uint32_t *unread;                  /* blocks that are reached and not yet read */
    size_t    unread_capacity, unread_count;
    uint32_t *begun;                   /* in settle: blocks that led to others, in their order */
    size_t    begun_capacity, begun_count;
    uintptr_t *window;                 /* a copy of memory */
    size_t    window_capacity;
    uintptr_t window_begin;
    size_t    window_bytes;
    size_t    others_left_bytes;       /* how much of unknown blocks may still be read */
    uint32_t  leader;                  /* in settle: the leader of blocks that are found next */
    bool incomplete; /* no result: memory was refused, or there is too much to read */
};

/* Memory comes from mem, which must outlive lost. The process's memory is read through fd. */
void rb_heapprof_lost_init(struct heapprof_lost *lost, struct heapprof_mem *mem, int fd,
                           uintptr_t freed_key);
void rb_heapprof_lost_free(struct heapprof_lost *lost);

void
rb_heapprof_lost_add(struct heapprof_lost *lost, uintptr_t address, size_t bytes, uint32_t site);
void
rb_heapprof_lost_add_range(struct heapprof_lost *lost, const struct heapprof_lost_range *range);

/* To be called after the last add. Leaves out blocks that glibc says are freed. */
void rb_heapprof_lost_sort(struct heapprof_lost *lost);

/* Follows the words from begin to end as roots, except those inside of blocks and ranges. */
void rb_heapprof_lost_root(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end);

/* The same for words inside of a range. */
void rb_heapprof_lost_root_of(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end);

/* Gives each block its fate. Returns false if fates are not known. */
bool rb_heapprof_lost_settle(struct heapprof_lost *lost);

/* To be called after settle. No report has the blocks of some sites: hidden_i says of which. What
 * only such a lost block leads to, and is not hidden itself, does not belong to it any more: the
 * first of these blocks are lost, and lead the rest. Returns false if fates are not known. */
bool rb_heapprof_lost_uncover(struct heapprof_lost *lost,
                              bool (*hidden_i)(uint32_t site, void *data), void *data);

#endif
