/* lost.c - a conservative search from what a process can still name to the blocks it has not freed.
 *
 *     roots          words of stacks, registers, variables
 *       |
 *       v
 *     block A  --->  block B                 REACHABLE: by pointers to beginnings alone
 *          \---middle of---> block C --> D   POSSIBLE: C and D
 *     block E  --->  block F                 E is LOST, F INDIRECT, and E its leader
 *
 * These are the words of Valgrind's memcheck, so verdicts can be compared. First all that can be
 * reached is reached. What is left is a graph, and of each part of it that nothing outside of
 * the part leads to, one block is lost: of a ring any one, and of what leads into a ring not the
 * ring. Two passes find it:
 *
 *     1  blocks in the order of addresses: one that is not seen yet begins, and all that it leads
 *        to is seen. So no block leads to one that begins later.
 *     2  those that have begun, the last first: one that is not seen yet is lost, and leads the
 *        rest of what it leads to. A block that leads to it has begun later, or is led by it.
 *
 * Some blocks are not known: they were there before the profiler, or were asked for where it
 * does not look. In the heaps of glibc such a block is read when a pointer leads to its
 * beginning, and it looks like one in use (os/chunk.h). A freed block in glibc's caches looks
 * so, too. It is recognised by the key that glibc writes there.
 *
 *   I1  nothing is read directly: memory may go away at any moment (os/peek.h).
 *   I2  fates only get better until all roots are read. So a block is read twice at most: as
 *       possible, then as reachable.
 *   I3  at most OTHERS_BYTES of unknown blocks are read: what only looks like a block may be
 *       long, and may overlap others.
 */
#include "profiler/leaks/lost.h"

#include <stdlib.h>

#include "os/chunk.h"
#include "os/peek.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define OTHERS_BYTES ((size_t)256 << 20)
#define OTHER (UINT32_C(1) << 31) /* in unread: the place is one of others */
#define NO_LEADER UINT32_MAX

struct heapprof_lost_other {
    uintptr_t address;
    size_t    bytes;
    enum heapprof_fate fate;
};

void
rb_heapprof_lost_init(struct heapprof_lost *lost, struct heapprof_mem *mem, int fd,
                      uintptr_t freed_key)
{
    *lost = (struct heapprof_lost){ .mem = mem,
                                     .fd = fd,
                                     .freed_key = freed_key,
                                     .others_left_bytes = OTHERS_BYTES,
                                     .leader = NO_LEADER };
    lost->incomplete = fd < 0 || !HEAPPROF_MEM_GROW(mem, lost->window, lost->window_capacity,
                                                    WINDOW_BYTES / sizeof(*lost->window));
}

void
rb_heapprof_lost_free(struct heapprof_lost *lost)
{
    HEAPPROF_MEM_RELEASE(lost->mem, lost->blocks, lost->blocks_capacity);
    HEAPPROF_MEM_RELEASE(lost->mem, lost->ranges, lost->ranges_capacity);
    HEAPPROF_MEM_RELEASE(lost->mem, lost->others, lost->others_capacity);
    HEAPPROF_MEM_RELEASE(lost->mem, lost->unread, lost->unread_capacity);
    HEAPPROF_MEM_RELEASE(lost->mem, lost->begun, lost->begun_capacity);
    HEAPPROF_MEM_RELEASE(lost->mem, lost->window, lost->window_capacity);
    rb_heapprof_index_release(&lost->others_index, lost->mem);
}

void
rb_heapprof_lost_add(struct heapprof_lost *lost, uintptr_t address, size_t bytes, uint32_t site)
{
    if (lost->block_count == OTHER - 1 ||
        !HEAPPROF_MEM_GROW(lost->mem, lost->blocks, lost->blocks_capacity, lost->block_count + 1)) {
        lost->incomplete = true;
        return;
    }
    lost->blocks[lost->block_count++] =
        (struct heapprof_lost_block){.address = address, .bytes = bytes, .site = site};
}

void
rb_heapprof_lost_add_range(struct heapprof_lost *lost, const struct heapprof_lost_range *range)
{
    if (!HEAPPROF_MEM_GROW(lost->mem, lost->ranges, lost->ranges_capacity, lost->range_count + 1)) {
        lost->incomplete = true;
        return;
    }
    lost->ranges[lost->range_count++] = *range;
}

static int
compare_blocks(const void *left, const void *right)
{
    const struct heapprof_lost_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int
compare_ranges(const void *left, const void *right)
{
    const struct heapprof_lost_range *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* ---- where an address lies ---- */

/* The place of the first block that ends behind the address. */
static size_t
block_behind(const struct heapprof_lost *lost, uintptr_t address)
{
    size_t low = 0, high = lost->block_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lost->blocks[middle].address + lost->blocks[middle].bytes <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static struct heapprof_lost_block *
block_at(const struct heapprof_lost *lost, uintptr_t address)
{
    size_t place = block_behind(lost, address);
    bool within = place < lost->block_count && lost->blocks[place].address <= address;
    return within ? &lost->blocks[place] : NULL;
}

/* The same of ranges. */
static const struct heapprof_lost_range *
range_behind(const struct heapprof_lost *lost, uintptr_t address)
{
    for (size_t i = 0; i < lost->range_count; i++) {
        if (lost->ranges[i].end > address) return &lost->ranges[i];
    }
    return NULL;
}

static const struct heapprof_lost_range *
heap_at(const struct heapprof_lost *lost, uintptr_t address)
{
    const struct heapprof_lost_range *range = range_behind(lost, address);
    return range && range->heap && range->begin <= address ? range : NULL;
}

/* ---- blocks that are not known ---- */

static bool
word_at(uintptr_t address, uintptr_t *word, void *data)
{
    const struct heapprof_lost *lost = data;
    return rb_heapprof_peek(lost->fd, address, word, sizeof(*word)) == sizeof(*word);
}

/* The length of an unknown block; 0 if there is none. It ends where a known block begins. */
static size_t
other_bytes(struct heapprof_lost *lost, uintptr_t address)
{
    const struct heapprof_lost_range *heap = heap_at(lost, address);
    size_t bytes = heap ? rb_heapprof_chunk_bytes_in_heap(address, heap->end, word_at, lost) : 0;
    size_t next = block_behind(lost, address);
    uintptr_t key;

    if (bytes == 0) return 0;
    if (lost->freed_key && word_at(address + sizeof(key), &key, lost) && key == lost->freed_key)
        return 0;
    if (next < lost->block_count && lost->blocks[next].address - address < bytes) {
        bytes = lost->blocks[next].address - address;
    }
    return bytes;
}

static uint64_t
other_hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_lost *lost = owner;
    return rb_heapprof_index_hash(lost->others[number - 1].address);
}

static struct heapprof_lost_other *
find_other(const struct heapprof_lost *lost, uintptr_t address)
{
    uint64_t probe = rb_heapprof_index_hash(address);
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&lost->others_index, probe)) != 0; probe++) {
        if (lost->others[number - 1].address == address) return &lost->others[number - 1];
    }
    return NULL;
}

/* Returns NULL if memory is refused. */
static struct heapprof_lost_other *
add_other(struct heapprof_lost *lost, uintptr_t address)
{
    if (lost->other_count == OTHER - 1 ||
        !HEAPPROF_MEM_GROW(lost->mem, lost->others, lost->others_capacity,
                           (size_t)lost->other_count + 1) ||
        !rb_heapprof_index_reserve(&lost->others_index, lost->mem, lost->other_count, other_hash_i,
                                   lost)) {
        lost->incomplete = true;
        return NULL;
    }
    struct heapprof_lost_other *other = &lost->others[lost->other_count++];
    *other = (struct heapprof_lost_other){.address = address, .bytes = other_bytes(lost, address)};
    rb_heapprof_index_insert(&lost->others_index, rb_heapprof_index_hash(address),
                             lost->other_count);
    return other;
}

/* ---- before the search ---- */

static void
widen(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end)
{
    if (begin < lost->least) lost->least = begin;
    if (end > lost->most) lost->most = end;
}

/* A block that was given back where nobody saw it, by an address of free that somebody had kept. */
static bool
freed_p(const struct heapprof_lost *lost, uintptr_t block)
{
    const struct heapprof_lost_range *heap = heap_at(lost, block);
    uintptr_t key;

    if (!heap) return false;
    if (lost->freed_key && word_at(block + sizeof(key), &key, (void *)lost) &&
        key == lost->freed_key)
        return true;
    return rb_heapprof_chunk_bytes_in_heap(block, heap->end, word_at, (void *)lost) == 0;
}

static void
leave_out_freed(struct heapprof_lost *lost)
{
    size_t kept = 0;

    for (size_t i = 0; i < lost->block_count; i++) {
        if (!freed_p(lost, lost->blocks[i].address)) lost->blocks[kept++] = lost->blocks[i];
    }
    lost->block_count = kept;
}

void
rb_heapprof_lost_sort(struct heapprof_lost *lost)
{
    if (lost->block_count > 0)
        qsort(lost->blocks, lost->block_count, sizeof(*lost->blocks), compare_blocks);
    if (lost->range_count > 0)
        qsort(lost->ranges, lost->range_count, sizeof(*lost->ranges), compare_ranges);
    leave_out_freed(lost);
    lost->least = UINTPTR_MAX;
    for (size_t i = 0; i < lost->range_count; i++) {
        if (lost->ranges[i].heap) widen(lost, lost->ranges[i].begin, lost->ranges[i].end);
    }
    for (size_t i = 0; i < lost->block_count; i++) {
        widen(lost, lost->blocks[i].address, lost->blocks[i].address + lost->blocks[i].bytes);
    }
}

/* ---- marking ---- */

static void
read_later(struct heapprof_lost *lost, uint32_t what)
{
    if (!HEAPPROF_MEM_GROW(lost->mem, lost->unread, lost->unread_capacity,
                           lost->unread_count + 1)) {
        lost->incomplete = true;
        return;
    }
    lost->unread[lost->unread_count++] = what;
}

/* Of what is lost nothing is followed that is not known: it is as lost, and in no report. */
static void
lead_to_other(struct heapprof_lost *lost, uintptr_t address, enum heapprof_fate fate)
{
    if (fate < HEAPPROF_POSSIBLE || address % sizeof(address) || !heap_at(lost, address)) return;
    struct heapprof_lost_other *other = find_other(lost, address);
    if (!other) other = add_other(lost, address);
    if (!other || other->bytes == 0 || other->fate >= fate) return;
    other->fate = fate;
    read_later(lost, OTHER | (uint32_t)(other - lost->others));
}

/* glibc calls a free chunk by the address of its header, which begins with the last word of the
 * block before. */
static bool
next_chunk_p(const struct heapprof_lost *lost, const struct heapprof_lost_block *block,
             uintptr_t word)
{
    return word == block->address + block->bytes - sizeof(word) && word != block->address &&
           heap_at(lost, word);
}

/* That word is in something of that fate. */
static void
lead_to(struct heapprof_lost *lost, uintptr_t word, enum heapprof_fate fate)
{
    struct heapprof_lost_block *block = block_at(lost, word);

    if (!block) {
        lead_to_other(lost, word, fate);
        return;
    }
    if (next_chunk_p(lost, block, word)) return;
    uint32_t place = (uint32_t)(block - lost->blocks);
    if (word != block->address && fate > HEAPPROF_POSSIBLE) fate = HEAPPROF_POSSIBLE;
    if (block->fate >= fate || block->fate == HEAPPROF_LOST) return;
    block->fate = fate;
    block->leader = lost->leader;
    read_later(lost, place);
}

/* ---- reading ---- */

static void
look(struct heapprof_lost *lost, uintptr_t begin, size_t bytes)
{
    lost->window_begin = begin;
    lost->window_bytes = rb_heapprof_peek(lost->fd, begin, lost->window,
                                          bytes < WINDOW_BYTES ? bytes : WINDOW_BYTES);
}

/* What all words there lead to. What is not mapped leads nowhere. */
static void
read_words(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end, enum heapprof_fate fate)
{
    begin = (begin + sizeof(begin) - 1) & ~(uintptr_t)(sizeof(begin) - 1);
    while (begin < end && end - begin >= sizeof(begin) && !lost->incomplete) {
        look(lost, begin, end - begin);
        size_t words = lost->window_bytes / sizeof(*lost->window);
        for (size_t i = 0; i < words; i++) {
            uintptr_t word = lost->window[i];
            if (word >= lost->least && word < lost->most) lead_to(lost, word, fate);
        }
        if (words == 0) return;
        begin += words * sizeof(*lost->window);
    }
}

static void
read_other(struct heapprof_lost *lost, const struct heapprof_lost_other *other)
{
    uintptr_t begin = other->address, end = begin + other->bytes; /* others may move meanwhile */

    if (other->bytes > lost->others_left_bytes) {
        lost->incomplete = true;
        return;
    }
    lost->others_left_bytes -= other->bytes;
    read_words(lost, begin, end, other->fate);
}

static void
read_unread(struct heapprof_lost *lost)
{
    while (lost->unread_count > 0 && !lost->incomplete) {
        uint32_t what = lost->unread[--lost->unread_count];
        if (what & OTHER) {
            read_other(lost, &lost->others[what & ~OTHER]);
            continue;
        }
        const struct heapprof_lost_block *block = &lost->blocks[what];
        enum heapprof_fate fate = block->fate == HEAPPROF_LOST ? HEAPPROF_INDIRECT : block->fate;
        read_words(lost, block->address, block->address + block->bytes, fate);
    }
}

/* Without blocks, which are no roots. */
static void
read_between_blocks(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end)
{
    for (size_t place = block_behind(lost, begin); begin < end; place++) {
        const struct heapprof_lost_block *block =
            place < lost->block_count ? &lost->blocks[place] : NULL;
        uintptr_t here = block && block->address < end ? block->address : end;
        if (begin < here) read_words(lost, begin, here, HEAPPROF_REACHABLE);
        begin = here < end ? block->address + block->bytes : end;
    }
}

void
rb_heapprof_lost_root(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end)
{
    while (begin < end) {
        const struct heapprof_lost_range *range = range_behind(lost, begin);
        uintptr_t here = range && range->begin < end ? range->begin : end;
        if (begin < here) read_between_blocks(lost, begin, here);
        begin = here < end ? range->end : end;
    }
    read_unread(lost);
}

void
rb_heapprof_lost_root_of(struct heapprof_lost *lost, uintptr_t begin, uintptr_t end)
{
    read_words(lost, begin, end, HEAPPROF_REACHABLE);
    read_unread(lost);
}

/* ---- what is left ---- */

static void
lead_from(struct heapprof_lost *lost, uint32_t place)
{
    lost->blocks[place].fate = HEAPPROF_LOST;
    lost->leader = place;
    read_later(lost, place);
    read_unread(lost);
}

static void
note_beginning(struct heapprof_lost *lost, uint32_t place)
{
    if (HEAPPROF_MEM_GROW(lost->mem, lost->begun, lost->begun_capacity, lost->begun_count + 1))
        lost->begun[lost->begun_count++] = place;
    else lost->incomplete = true;
}

static void
forget_open(struct heapprof_lost *lost)
{
    for (size_t i = 0; i < lost->block_count; i++) {
        if (lost->blocks[i].open) lost->blocks[i].fate = HEAPPROF_UNSEEN;
    }
}

/* Decides which of the open blocks are lost, and which others belong to these. */
static bool
settle_open(struct heapprof_lost *lost)
{
    lost->begun_count = 0;
    for (uint32_t place = 0; place < lost->block_count && !lost->incomplete; place++) {
        if (lost->blocks[place].fate != HEAPPROF_UNSEEN) continue;
        note_beginning(lost, place);
        lead_from(lost, place);
    }
    forget_open(lost);
    for (size_t i = lost->begun_count; i-- > 0 && !lost->incomplete; ) {
        if (lost->blocks[lost->begun[i]].fate == HEAPPROF_UNSEEN)
            lead_from(lost, lost->begun[i]);
    }
    return !lost->incomplete;
}

bool
rb_heapprof_lost_settle(struct heapprof_lost *lost)
{
    for (size_t i = 0; i < lost->block_count; i++)
        lost->blocks[i].open = lost->blocks[i].fate == HEAPPROF_UNSEEN;
    return settle_open(lost);
}

bool
rb_heapprof_lost_uncover(struct heapprof_lost *lost, bool (*hidden_i)(uint32_t site, void *data),
                         void *data)
{
    for (size_t i = 0; i < lost->block_count; i++) {
        struct heapprof_lost_block *block = &lost->blocks[i];
        block->open = block->fate == HEAPPROF_INDIRECT &&
                      hidden_i(lost->blocks[block->leader].site, data) &&
                      !hidden_i(block->site, data);
    }
    forget_open(lost);
    return settle_open(lost);
}
