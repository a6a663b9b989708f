#ifndef HEAPPROF_BLOCKS_H
#define HEAPPROF_BLOCKS_H
/* The sampled memory of an allocator that is not freed yet.
 *
 * Bytes are sampled as they are asked for: those of a new block at once, of one that grows
 * the growth alone. What was asked for at once and sampled is a piece; a block is known
 * while it has one.
 *
 *     block 0x7f..10    | piece     | not sampled | piece         |
 *                       0          64          4096            9000
 *
 * So bytes in use stand at the stack that asked for them, and a block that shrinks gives them
 * back from its end. Each byte of a piece stands for weight bytes like it: of a piece that
 * has been cut short, too.
 *
 * A block may be freed where the tables of a profile may not be changed. So its pieces are
 * retired: out of the block, and kept until the owner takes them, one by one.
 */
#include "base/address_table.h"
#include "base/numbers.h"
#include "profiler/block_filter.h"

struct heapprof_piece {
    size_t   begin;       /* offset in its block */
    size_t   held_bytes;  /* from there, now; 0: retired or free */
    size_t   asked_bytes; /* when it was sampled, which weight belongs to */
    uint32_t site;        /* who asked (sites.h); 0: free; HEAPPROF_SITE_WAITING: told later */
    uint32_t birth_gc;
    float    weight;
    uint32_t next;        /* of the same block or of the retired; the link of a free one */
};

/* The object that holds a block, as a walk of the heap has seen it. */
struct heapprof_owner {
    uintptr_t object;   /* 0: not known */
    uint32_t  class_id; /* its class, an identity */
    uint32_t  seen;     /* when (owner_seen) */
};

/* The GC count at which an owner was seen, and how often objects had been moved, 24 bits and 8. */
static inline uint32_t
rb_heapprof_owner_seen(uint32_t gc_count, uint32_t moves)
{
    return gc_count << 8 | (moves & 0xff);
}

/* Whether an object with its address now, that was born at that GC, is the same: none has been moved since,
 * and it has not been born there after a later GC. (After the same one it may have been, if that was marking; but
 * few blocks outlive their owners.) */
static inline bool
rb_heapprof_owner_same_p(uint32_t seen, uint32_t birth_gc, uint32_t moves_now)
{
    return (seen & 0xff) == (moves_now & 0xff) && (int32_t)((birth_gc << 8) - (seen & ~UINT32_C(0xff))) <= 0;
}

struct heapprof_blocks {
    struct heapprof_address_table addresses;
    uint32_t  chain;            /* of all blocks: the address table wants one */
    uint8_t  *filter;           /* the owner's, HEAPPROF_BLOCK_FILTER_SIZE */
    uint32_t *pieces_of;        /* by address entry: the first, which lies furthest back */
    size_t    pieces_of_capacity;
    struct heapprof_owner *owners; /* by address entry */
    size_t    owners_capacity;
    struct heapprof_piece *pieces; /* [0] unused */
    struct heapprof_numbers numbers; /* of the pieces, the retired ones too */
    uint32_t  retired_head;
    uint32_t  live_count;       /* pieces in blocks */
};

/* An empty table; allocates nothing. mem and filter must outlive it; filter is zero. */
void rb_heapprof_blocks_init(struct heapprof_blocks *blocks, struct heapprof_mem *mem,
                             uint8_t *filter);

/* Gives the memory back and clears the filter; the table is then as after init. */
void rb_heapprof_blocks_free(struct heapprof_blocks *blocks);

/* Enters a piece at the end of the block at address; of the piece, begin, asked_bytes (not 0),
 * site, birth_gc and weight are read. False when memory is refused. */
bool rb_heapprof_blocks_add(struct heapprof_blocks *blocks, uintptr_t address,
                            const struct heapprof_piece *piece);

/* The block at address is freed; nothing happens if it is not known. */
void rb_heapprof_blocks_remove(struct heapprof_blocks *blocks, uintptr_t address);

/* A block is about to be reallocated: from now on its address may be somebody else's. Returns
 * what put wants, 0 when it is not known. */
uint32_t rb_heapprof_blocks_lift(struct heapprof_blocks *blocks, uintptr_t address);

/* It is at address now (or again). Nothing happens if the table was freed meanwhile. */
void rb_heapprof_blocks_put(struct heapprof_blocks *blocks, uint32_t lifted, uintptr_t address);

/* The block at address has size_bytes now; nothing happens if it is not known. */
void rb_heapprof_blocks_cut(struct heapprof_blocks *blocks, uintptr_t address, size_t size_bytes);

/* The offset at which the known pieces of the block at address end; 0 when it is not known. */
size_t rb_heapprof_blocks_end(const struct heapprof_blocks *blocks, uintptr_t address);

/* Makes room for count pieces in blocks of their own; false when memory is refused, where some of
 * it may have been made. */
bool rb_heapprof_blocks_reserve(struct heapprof_blocks *blocks, uint32_t count);

/* Whether add would need no memory now; and the number it would give its piece. */
bool rb_heapprof_blocks_room_p(const struct heapprof_blocks *blocks);

static inline uint32_t
rb_heapprof_blocks_next_piece(const struct heapprof_blocks *blocks)
{
    return rb_heapprof_numbers_next(&blocks->numbers);
}

/* Pieces of blocks that are no more, until they are taken. */
static inline uint32_t
rb_heapprof_blocks_retired_count(const struct heapprof_blocks *blocks)
{
    return blocks->numbers.count - blocks->live_count;
}

/* Takes one retired piece and returns its site, 0 when there is none. */
uint32_t rb_heapprof_blocks_take_retired(struct heapprof_blocks *blocks);

/* Asks of each piece of the block with that entry, unless it is lifted, whether it stays, and frees the others at
 * once. Nothing happens if there is none. keep may change the weight; it may not use the table. Those of a
 * size that is only reported (reported.h) move together. */
void rb_heapprof_blocks_thin(struct heapprof_blocks *blocks, uint32_t entry,
                             bool (*keep)(struct heapprof_piece *piece, void *data), void *data);

/* Gives memory back that is not needed, where less than a third is; blocks and pieces are numbered anew. Does
 * nothing while a block is lifted: who lifted it has its number. */
void rb_heapprof_blocks_pack(struct heapprof_blocks *blocks);

/* The known block at address belongs to that object, until it is freed or owners are
 * forgotten. */
void rb_heapprof_blocks_own(struct heapprof_blocks *blocks, uintptr_t address,
                            const struct heapprof_owner *owner);
void rb_heapprof_blocks_forget_owners(struct heapprof_blocks *blocks);

/* The known blocks, by entry; 0 after the last. Begin after 0. */
uint32_t rb_heapprof_blocks_next(const struct heapprof_blocks *blocks, uint32_t entry);

/* Bytes in use, as the pieces stand for them. */
double rb_heapprof_blocks_in_use(const struct heapprof_blocks *blocks);

/* Asserts the invariants of blocks.c. */
void rb_heapprof_blocks_check(const struct heapprof_blocks *blocks);

#endif
