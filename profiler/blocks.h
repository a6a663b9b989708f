#ifndef HEAPPROF_BLOCKS_H
#define HEAPPROF_BLOCKS_H
/* The sampled memory of an allocator that is not freed yet.
 *
 * Bytes are sampled when they are asked for: all bytes of a new block, and the growth of a block
 * that grows. What was asked for at once and sampled is a piece. A block is known while it has a
 * piece.
 *
 *     block 0x7f..10    | piece     | not sampled | piece         |
 *                       0          64          4096            9000
 *
 * So bytes in use count for the stack that asked for them, and a block that shrinks gives bytes
 * back from its end. Each byte of a piece stands for `weight` bytes, even if the piece has been
 * cut short.
 *
 * A block may be freed where the tables of a profile may not be changed. So its pieces are
 * retired: they leave the block, and are kept until the owner of the table takes them, one by one.
 */
#include "base/address_table.h"
#include "base/numbers.h"
#include "profiler/block_filter.h"
#include "profiler/sums.h"

/* The site of a piece whose site is not known yet. */
#define HEAPPROF_SITE_WAITING UINT32_MAX

/* With memcheck: which allocator gave a block out. A block that MRI has asked the C library for is
 * of no known one, for MRI may mix its own as it likes. */
enum heapprof_block_allocator {
    HEAPPROF_OF_UNKNOWN,
    HEAPPROF_OF_LIBC,
    HEAPPROF_OF_XMALLOC,         /* asked by an extension or a library */
    HEAPPROF_OF_XMALLOC_BY_CORE, /* asked by MRI */
};

struct heapprof_piece {
    size_t   begin;       /* offset in its block; of a retired piece: the last GC it survived */
    size_t   held_bytes;  /* its length at this moment; 0: retired or free */
    size_t   asked_bytes : 62; /* its length when it was sampled, which weight belongs to */
    size_t   allocator : 2;    /* enum heapprof_block_allocator */
    uint32_t site;        /* which site asked; 0: free; HEAPPROF_SITE_WAITING: not known yet */
    uint32_t birth_gc;
    float    weight;
    uint32_t next;        /* piece of the same block, or retired piece. Of a free piece: its link */
};

/* The object that holds a block, as a walk of the heap has seen it. */
struct heapprof_owner {
    uintptr_t object;   /* 0: not known */
    uint32_t  class_id; /* its class, an identity */
    uint32_t  seen;     /* when it was seen, as owner_seen returns it */
};

/* When an owner was seen: the GC count in 24 bits, then how often objects had been moved in 8. */
static inline uint32_t
rb_heapprof_owner_seen(uint32_t gc_count, uint32_t moves)
{
    return gc_count << 8 | (moves & 0xff);
}

/* Whether the object that has the owner's address at this moment, and was born at that GC, is
 * still that owner. It is, if no object has been moved since, and it was not born after a later
 * GC. (It may have been born after the same GC, if that was marking. But few blocks outlive
 * their owners.) */
static inline bool
rb_heapprof_owner_same_p(uint32_t seen, uint32_t birth_gc, uint32_t moves_now)
{
    return (seen & 0xff) == (moves_now & 0xff) &&
           (int32_t)((birth_gc << 8) - (seen & ~UINT32_C(0xff))) <= 0;
}

struct heapprof_blocks {
    struct heapprof_address_table addresses;
    uint32_t  chain;            /* the one chain of all blocks, for the address table */
    uint8_t  *filter;           /* of HEAPPROF_BLOCK_FILTER_SIZE bytes, the caller's */
    uint32_t *pieces_of;        /* by address entry: the first piece, which lies furthest back */
    size_t    pieces_of_capacity;
    struct heapprof_owner *owners; /* by address entry */
    size_t    owners_capacity;
    struct heapprof_piece *pieces; /* [0] unused */
    struct heapprof_numbers numbers; /* of the pieces, retired ones included */
    uint32_t  retired_head;
    uint32_t  live_count;       /* pieces in blocks */
    uint32_t  last_gc;          /* the last GC that pieces which retire now have survived; the
                                   caller sets it, if ages at death are wanted */
    struct heapprof_sums *sums; /* what pieces hold, by site; NULL: nobody wants to know */
};

/* An empty table; allocates nothing. mem and filter must outlive it; filter is zero. */
void rb_heapprof_blocks_init(struct heapprof_blocks *blocks, struct heapprof_mem *mem,
                             uint8_t *filter);

/* Gives the memory back and clears the filter; the table is then as after init. */
void rb_heapprof_blocks_free(struct heapprof_blocks *blocks);

/* Enters a piece at the end of the block at address. Reads begin, asked_bytes (not 0), site,
 * birth_gc, allocator and weight of the piece. Returns false if memory is refused. */
bool rb_heapprof_blocks_add(struct heapprof_blocks *blocks, uintptr_t address,
                            const struct heapprof_piece *piece);

/* The block at address is freed; nothing happens if it is not known. */
void rb_heapprof_blocks_remove(struct heapprof_blocks *blocks, uintptr_t address);

/* A block is about to be reallocated: from here on its address may belong to another block. Returns
 * what put takes, or 0 if the block is not known. */
uint32_t rb_heapprof_blocks_lift(struct heapprof_blocks *blocks, uintptr_t address);

/* The lifted block is at address, which may be the old one. Nothing happens if the table was freed
 * meanwhile. */
void rb_heapprof_blocks_put(struct heapprof_blocks *blocks, uint32_t lifted, uintptr_t address);

/* The block at address has been cut to size_bytes. Nothing happens if it is not known. */
void rb_heapprof_blocks_cut(struct heapprof_blocks *blocks, uintptr_t address, size_t size_bytes);

/* Returns the offset at which the pieces of the block at address end. Returns 0 if the block is
 * not known. */
size_t rb_heapprof_blocks_end(const struct heapprof_blocks *blocks, uintptr_t address);

/* Returns the piece at the beginning of the block at address. Returns NULL if it is not known. */
struct heapprof_piece *
rb_heapprof_blocks_beginning(const struct heapprof_blocks *blocks, uintptr_t address);

/* Makes room for count pieces, each in a block of its own. Returns false if memory is refused; some
 * room may have been made then. */
bool rb_heapprof_blocks_reserve(struct heapprof_blocks *blocks, uint32_t count);

/* Returns whether the next add needs no memory. */
bool rb_heapprof_blocks_room_p(const struct heapprof_blocks *blocks);

/* The number that the next add will give its piece. */
static inline uint32_t
rb_heapprof_blocks_next_piece(const struct heapprof_blocks *blocks)
{
    return rb_heapprof_numbers_next(&blocks->numbers);
}

/* Returns how many pieces of freed blocks are not taken yet. */
static inline uint32_t
rb_heapprof_blocks_retired_count(const struct heapprof_blocks *blocks)
{
    return blocks->numbers.count - blocks->live_count;
}

/* A piece that waits for its site gets it. Returns false if memory is refused. */
bool rb_heapprof_blocks_name(struct heapprof_blocks *blocks, uint32_t number, uint32_t site);

/* The retired piece that is taken next. NULL: there is none. */
static inline const struct heapprof_piece *
rb_heapprof_blocks_retired(const struct heapprof_blocks *blocks)
{
    return blocks->retired_head ? &blocks->pieces[blocks->retired_head] : NULL;
}

/* Takes one retired piece and returns its site. Returns 0 if there is no retired piece. */
uint32_t rb_heapprof_blocks_take_retired(struct heapprof_blocks *blocks);

/* Asks keep of each piece of the block with that entry whether it stays, and frees the rest at
 * once. Nothing happens if the entry has no block, or the block is lifted. keep may change the
 * weight. It may not use the table. The pieces left of a reported size (reported.h) move
 * together. */
void rb_heapprof_blocks_thin(struct heapprof_blocks *blocks, uint32_t entry,
                             bool (*keep)(struct heapprof_piece *piece, void *data), void *data);

/* Gives memory back if less than a third of it is needed. Blocks and pieces are then numbered anew.
 * Does nothing while a block is lifted, since the caller of lift has its number. */
void rb_heapprof_blocks_pack(struct heapprof_blocks *blocks);

/* The known block at address belongs to that object, until the block is freed or owners are
 * forgotten. */
void rb_heapprof_blocks_own(struct heapprof_blocks *blocks, uintptr_t address,
                            const struct heapprof_owner *owner);
void rb_heapprof_blocks_forget_owners(struct heapprof_blocks *blocks);

/* Returns the entry of the known block after that one. Returns 0 after the last. The first
 * follows 0. */
uint32_t rb_heapprof_blocks_next(const struct heapprof_blocks *blocks, uint32_t entry);

/* Returns the bytes in use, as the weights of the pieces estimate them. */
double rb_heapprof_blocks_in_use(const struct heapprof_blocks *blocks);

/* Asserts the invariants of blocks.c. */
void rb_heapprof_blocks_check(const struct heapprof_blocks *blocks);

#endif
