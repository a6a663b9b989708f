#ifndef HEAPPROF_LOST_H
#define HEAPPROF_LOST_H
/* Which blocks of the allocator nobody leads to any more. lost.c has the rules.
 *
 *     init -> add, add_range -> sort -> root, once for each range that may hold pointers -> settle
 *
 * One thread; the process's memory may change meanwhile, but not to the better. */
#include "base/index.h"

/* From the worst to the best; a block is what the best way to it makes it. */
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
    uint32_t  leader;   /* of an indirect one: the place of the lost one it belongs to */
};

/* Memory that is no root. */
struct heapprof_lost_range {
    uintptr_t begin, end;
    bool      heap;     /* glibc's blocks are there: one that is not known is read when something leads to it */
};

struct heapprof_lost_other; /* a block that is not known */

struct heapprof_lost {
    struct heapprof_mem *mem;
    int       fd;                      /* to read memory through (os/peek.h) */
    uintptr_t freed_key;               /* second word of what lies in glibc's caches of freed blocks; 0: not known */
    struct heapprof_lost_block *blocks; /* by address, after sort */
    size_t    blocks_capacity, block_count;
    struct heapprof_lost_range *ranges; /* the same */
    size_t    ranges_capacity, range_count;
    uintptr_t least, most;             /* no block or heap lies before or behind; after sort */
    struct heapprof_lost_other *others;
    size_t    others_capacity;
    uint32_t  other_count;
    struct heapprof_index others_index; /* address -> place + 1 */
    uint32_t *unread;                  /* what has been reached and is to be read */
    size_t    unread_capacity, unread_count;
    uintptr_t *window;                 /* a copy of memory */
    size_t    window_capacity;
    uintptr_t window_begin;
    size_t    window_bytes;
    size_t    others_left_bytes;       /* so much of others may still be read */
    uint32_t  leader;                  /* in settle: of what is found now */
    bool      incomplete;              /* memory was refused, or there is too much to read: nothing is known */
};

/* Memory is from mem, which must outlive it; what is there is read through fd. */
void rb_heapprof_lost_init(struct heapprof_lost *lost, struct heapprof_mem *mem, int fd, uintptr_t freed_key);
void rb_heapprof_lost_free(struct heapprof_lost *lost);

void rb_heapprof_lost_add(struct heapprof_lost *lost, uintptr_t address, size_t bytes, uint32_t site);
void rb_heapprof_lost_add_range(struct heapprof_lost *lost, const struct heapprof_lost_range *range);

/* Leaves out what glibc says has been freed. */
void rb_heapprof_lost_sort(struct heapprof_lost *lost);

/* What lies there may lead to blocks; but for blocks themselves, and ranges. */
void rb_heapprof_lost_root(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end);

/* The same of what lies in a range that is no root. */
void rb_heapprof_lost_root_of(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end);

/* Gives each block its fate. False: not known. */
bool rb_heapprof_lost_settle(struct heapprof_lost *lost);

#endif
