/* blocks.c - known blocks by address, and the pieces of each.
 *
 *     addresses   entry 1     0x7f..10           entry 2   lifted: its key is 0x22
 *     pieces_of   1 -> 4                         2 -> 7
 *     owners      1    String, 0x7f..90          2
 *     pieces      4  begin 4096 --> 2  begin 0   7  begin 0
 *     retired     3 -> 1                         pieces of freed blocks
 *     free        5 -> 6
 *
 *   I1  Pieces of a block do not overlap. The one furthest back comes first.
 *   I2  Each piece is in one block, retired, or free.
 *   I3  A byte of the filter is the number of blocks that lead to it, or 255.
 *   I4  A block has a piece. An entry without a block has no piece and no owner.
 *   I5  sums has what the pieces of a site hold, times their weights, if it is kept. It has room
 *       for each site that has a piece.
 *
 * While a block is lifted, its key is made of the number of its entry. No block can have such an
 * address. So a lifted block keeps its place, and putting it back needs no memory.
 *
 * The caller serialises all calls. Only add and reserve allocate (mem.c).
 */
#include "profiler/blocks.h"

#include <string.h>

#include "base/check.h"
#include "profiler/reported.h"

/* No block has such an address: blocks begin every 8 bytes, or at an odd address (reported.h). */
static uintptr_t
lifted_key(uint32_t entry)
{
    return (uintptr_t)entry << 4 | 2;
}

/* ---- pieces ---- */

static void
free_piece(struct heapprof_blocks *blocks, uint32_t number)
{
    memset(&blocks->pieces[number], 0, sizeof(*blocks->pieces));
    rb_heapprof_numbers_give_back(&blocks->numbers, number, &blocks->pieces[number].next);
}

/* The piece holds so many bytes more, or less, of which each stands for weight. There is no room
 * for a site that is not known yet, nor for any if nobody wants sums. */
static void
sum_up(struct heapprof_blocks *blocks, const struct heapprof_piece *piece, double bytes,
       float weight)
{
    struct heapprof_sums *sums = blocks->sums;

    if (!sums || piece->site >= sums->now_capacity) return;
    sums->now[piece->site].bytes += bytes * (double)weight;
    sums->bytes += bytes * (double)weight;
}

static bool
room_in_sums_p(struct heapprof_blocks *blocks, uint32_t site)
{
    return !blocks->sums || site == HEAPPROF_SITE_WAITING ||
           rb_heapprof_sums_reserve(blocks->sums, blocks->addresses.mem, site);
}

static void
cut_piece(struct heapprof_blocks *blocks, struct heapprof_piece *piece, size_t held_bytes)
{
    sum_up(blocks, piece, -(double)(piece->held_bytes - held_bytes), piece->weight);
    piece->held_bytes = held_bytes;
}

static void
retire(struct heapprof_blocks *blocks, uint32_t number)
{
    struct heapprof_piece *piece = &blocks->pieces[number];

    cut_piece(blocks, piece, 0);
    piece->begin = blocks->last_gc;
    piece->next = blocks->retired_head;
    blocks->retired_head = number;
    blocks->live_count--;
}

uint32_t
rb_heapprof_blocks_take_retired(struct heapprof_blocks *blocks)
{
    uint32_t number = blocks->retired_head;
    struct heapprof_piece *piece;
    uint32_t site;

    if (!number) return 0;
    piece = &blocks->pieces[number];
    blocks->retired_head = piece->next;
    site = piece->site;
    free_piece(blocks, number);
    return site;
}

/* ---- filter ---- */

static void
filter_count(struct heapprof_blocks *blocks, uintptr_t address)
{
    uint8_t *counter = &blocks->filter[rb_heapprof_block_filter_index(address)];
    if (*counter < UINT8_MAX) ++*counter;
}

static void
filter_uncount(struct heapprof_blocks *blocks, uintptr_t address)
{
    uint8_t *counter = &blocks->filter[rb_heapprof_block_filter_index(address)];
    if (*counter < UINT8_MAX) --*counter;
}

/* ---- blocks ---- */

/* Frees the entry of a block whose pieces are gone. */
static void
free_entry(struct heapprof_blocks *blocks, uint32_t entry)
{
    filter_uncount(blocks, rb_heapprof_address_table_address(&blocks->addresses, entry));
    rb_heapprof_address_table_remove(&blocks->addresses, &blocks->chain, entry);
    blocks->pieces_of[entry] = 0;
    blocks->owners[entry] = (struct heapprof_owner){0};
}

static void
remove_entry(struct heapprof_blocks *blocks, uint32_t entry)
{
    uint32_t number, next;

    rb_heapprof_numbers_change(&blocks->addresses.numbers, entry);
    for (number = blocks->pieces_of[entry]; number; number = next) {
        next = blocks->pieces[number].next;
        retire(blocks, number);
    }
    free_entry(blocks, entry);
}

/* Cuts the pieces at size_bytes. Returns false if no piece is left. */
static bool
cut_pieces(struct heapprof_blocks *blocks, uint32_t entry, size_t size_bytes)
{
    uint32_t number;

    while ((number = blocks->pieces_of[entry]) != 0) {
        struct heapprof_piece *piece = &blocks->pieces[number];
        if (piece->begin < size_bytes) {
            size_t most = size_bytes - piece->begin;
            if (piece->held_bytes > most) cut_piece(blocks, piece, most);
            return true;
        }
        blocks->pieces_of[entry] = piece->next;
        retire(blocks, number);
    }
    return false;
}

static uint32_t
add_entry(struct heapprof_blocks *blocks, uintptr_t address)
{
    size_t next = rb_heapprof_address_table_next_entry(&blocks->addresses);
    struct heapprof_mem *mem = blocks->addresses.mem;
    uint32_t entry;

    if (!HEAPPROF_MEM_GROW(mem, blocks->pieces_of, blocks->pieces_of_capacity, next + 1) ||
        !HEAPPROF_MEM_GROW(mem, blocks->owners, blocks->owners_capacity, next + 1)) return 0;
    entry = rb_heapprof_address_table_add(&blocks->addresses, &blocks->chain, address);
    if (!entry) return 0;
    filter_count(blocks, address);
    return entry;
}

/* ---- life ---- */

void
rb_heapprof_blocks_init(struct heapprof_blocks *blocks, struct heapprof_mem *mem, uint8_t *filter)
{
    memset(blocks, 0, sizeof(*blocks));
    rb_heapprof_address_table_init(&blocks->addresses, mem);
    blocks->filter = filter;
    rb_heapprof_numbers_init(&blocks->numbers);
}

void
rb_heapprof_blocks_free(struct heapprof_blocks *blocks)
{
    struct heapprof_mem *mem = blocks->addresses.mem;

    memset(blocks->filter, 0, HEAPPROF_BLOCK_FILTER_SIZE);
    HEAPPROF_MEM_RELEASE(mem, blocks->owners, blocks->owners_capacity);
    HEAPPROF_MEM_RELEASE(mem, blocks->pieces_of, blocks->pieces_of_capacity);
    HEAPPROF_NUMBERS_RELEASE(&blocks->numbers, mem, blocks->pieces);
    rb_heapprof_address_table_free(&blocks->addresses);
    struct heapprof_sums *sums = blocks->sums;
    rb_heapprof_blocks_init(blocks, mem, blocks->filter);
    blocks->sums = sums;
}

/* ---- operations ---- */

bool
rb_heapprof_blocks_add(struct heapprof_blocks *blocks, uintptr_t address,
                       const struct heapprof_piece *piece)
{
    uint32_t entry, number;

    HEAPPROF_ASSERT(piece->site && piece->asked_bytes);
    if (!HEAPPROF_NUMBERS_RESERVE(&blocks->numbers, blocks->addresses.mem, blocks->pieces) ||
        !room_in_sums_p(blocks, piece->site)) {
        return false;
    }
    entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    /* Pieces from there on are of another block, which other code has freed. */
    if (entry) {
        rb_heapprof_numbers_change(&blocks->addresses.numbers, entry);
        cut_pieces(blocks, entry, piece->begin);
        if (piece->begin == 0) blocks->owners[entry] = (struct heapprof_owner){0};
    }
    else if (!(entry = add_entry(blocks, address))) {
        return false;
    }
    number = rb_heapprof_numbers_next(&blocks->numbers);
    rb_heapprof_numbers_take(&blocks->numbers, &blocks->pieces[number].next);
    blocks->pieces[number] = *piece;
    blocks->pieces[number].held_bytes = piece->asked_bytes;
    sum_up(blocks, piece, (double)piece->asked_bytes, piece->weight);
    blocks->pieces[number].next = blocks->pieces_of[entry];
    blocks->pieces_of[entry] = number;
    blocks->live_count++;
    return true;
}

bool
rb_heapprof_blocks_name(struct heapprof_blocks *blocks, uint32_t number, uint32_t site)
{
    struct heapprof_piece *piece = &blocks->pieces[number];

    if (!room_in_sums_p(blocks, site)) return false;
    piece->site = site;
    sum_up(blocks, piece, (double)piece->held_bytes, piece->weight);
    return true;
}

void
rb_heapprof_blocks_remove(struct heapprof_blocks *blocks, uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    if (entry) remove_entry(blocks, entry);
}

uint32_t
rb_heapprof_blocks_lift(struct heapprof_blocks *blocks, uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    if (!entry) return 0;

    filter_uncount(blocks, address);
    rb_heapprof_address_table_move(&blocks->addresses, entry, &blocks->chain, &blocks->chain,
                                   lifted_key(entry));
    return entry;
}

void
rb_heapprof_blocks_put(struct heapprof_blocks *blocks, uint32_t lifted, uintptr_t address)
{
    /* If the entry is not lifted, all blocks have been forgotten meanwhile. */
    if (lifted >= blocks->addresses.numbers.end ||
        rb_heapprof_address_table_address(&blocks->addresses, lifted) != lifted_key(lifted)) return;
    rb_heapprof_blocks_remove(blocks, address); /* forgets a block that other code has freed */
    rb_heapprof_address_table_move(&blocks->addresses, lifted, &blocks->chain, &blocks->chain,
                                   address);
    filter_count(blocks, address);
}

void
rb_heapprof_blocks_cut(struct heapprof_blocks *blocks, uintptr_t address, size_t size_bytes)
{
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    if (!entry) return;
    rb_heapprof_numbers_change(&blocks->addresses.numbers, entry);
    if (!cut_pieces(blocks, entry, size_bytes)) remove_entry(blocks, entry);
}

/* ---- thinning ---- */

static void
thin_block(struct heapprof_blocks *blocks, uint32_t entry,
           bool (*keep)(struct heapprof_piece *piece, void *data), void *data)
{
    uint32_t *link = &blocks->pieces_of[entry], number;

    while ((number = *link) != 0) {
        struct heapprof_piece *piece = &blocks->pieces[number];
        float before = piece->weight;
        bool kept = keep(piece, data);
        sum_up(blocks, piece, (double)piece->held_bytes, (kept ? piece->weight : 0) - before);
        if (kept) {
            link = &piece->next;
            continue;
        }
        *link = piece->next;
        blocks->live_count--;
        free_piece(blocks, number);
    }
}

/* Closes the gaps between the pieces. All pieces have one size, and the first lies furthest
 * back. */
static void
close_gaps(struct heapprof_blocks *blocks, uint32_t entry)
{
    size_t begin = 0;
    uint32_t number;

    for (number = blocks->pieces_of[entry]; number; number = blocks->pieces[number].next) {
        begin += blocks->pieces[number].held_bytes;
    }
    for (number = blocks->pieces_of[entry]; number; number = blocks->pieces[number].next) {
        begin -= blocks->pieces[number].held_bytes;
        blocks->pieces[number].begin = begin;
    }
}

/* A lifted block keeps its entry and its pieces, because the caller of lift will use them. */
void
rb_heapprof_blocks_thin(struct heapprof_blocks *blocks, uint32_t entry,
                        bool (*keep)(struct heapprof_piece *piece, void *data), void *data)
{
    uintptr_t address = rb_heapprof_address_table_address(&blocks->addresses, entry);

    if (address == 0 || address == lifted_key(entry)) return;
    rb_heapprof_numbers_change(&blocks->addresses.numbers, entry);
    thin_block(blocks, entry, keep, data);
    if (blocks->pieces_of[entry] == 0) free_entry(blocks, entry);
    else if (rb_heapprof_reported_block_p(address)) close_gaps(blocks, entry);
}

/* ---- packing ---- */

/* rb_heapprof_mem_shrink uses the same bound. */
static bool
third_used_p(const struct heapprof_numbers *numbers)
{
    return numbers->count >= numbers->capacity / 3;
}

static bool
lifted_p(const struct heapprof_blocks *blocks)
{
    for (uint32_t entry = 1; entry < blocks->addresses.numbers.end; entry++) {
        if (rb_heapprof_address_table_address(&blocks->addresses, entry) == lifted_key(entry))
            return true;
    }
    return false;
}

static bool
follow(uint32_t entry, uint32_t number, void *data)
{
    struct heapprof_blocks *blocks = data;

    blocks->pieces_of[number] = blocks->pieces_of[entry];
    blocks->owners[number] = blocks->owners[entry];
    return true;
}

static void
pack_entries(struct heapprof_blocks *blocks)
{
    const struct heapprof_packing packing = { .head = &blocks->chain,
                                              .keep = follow,
                                              .data = blocks };
    const struct heapprof_numbers *numbers = &blocks->addresses.numbers;
    struct heapprof_mem *mem = blocks->addresses.mem;
    uint32_t old_end = numbers->end;

    rb_heapprof_address_table_pack(&blocks->addresses, &packing);
    uint32_t left = old_end - numbers->end;
    if (left > 0) {
        memset(&blocks->pieces_of[numbers->end], 0, left * sizeof(*blocks->pieces_of));
        memset(&blocks->owners[numbers->end], 0, left * sizeof(*blocks->owners));
    }
    HEAPPROF_MEM_SHRINK(mem, blocks->pieces_of, blocks->pieces_of_capacity, numbers->end);
    HEAPPROF_MEM_SHRINK(mem, blocks->owners, blocks->owners_capacity, numbers->end);
}

/* Moves the pieces from *link on whose numbers are above count. They take the next free numbers
 * up to count. */
static void
move_pieces(struct heapprof_blocks *blocks, uint32_t *link, uint32_t count, uint32_t *next_free)
{
    for (; *link; link = &blocks->pieces[*link].next) {
        if (*link <= count) continue;
        while (blocks->pieces[*next_free].site) ++*next_free;
        blocks->pieces[*next_free] = blocks->pieces[*link];
        *link = *next_free;
    }
}

static void
pack_pieces(struct heapprof_blocks *blocks)
{
    uint32_t count = blocks->numbers.count, next_free = 1;
    if (blocks->numbers.end == 1) return;

    for (uint32_t entry = 1; entry < blocks->addresses.numbers.end; entry++) {
        move_pieces(blocks, &blocks->pieces_of[entry], count, &next_free);
    }
    move_pieces(blocks, &blocks->retired_head, count, &next_free);
    HEAPPROF_NUMBERS_PACK(&blocks->numbers, blocks->addresses.mem, blocks->pieces, count);
}

void
rb_heapprof_blocks_pack(struct heapprof_blocks *blocks)
{
    if (third_used_p(&blocks->addresses.numbers) && third_used_p(&blocks->numbers)) return;
    if (lifted_p(blocks)) return;
    pack_entries(blocks);
    pack_pieces(blocks);
}

/* ---- room ---- */

bool
rb_heapprof_blocks_reserve(struct heapprof_blocks *blocks, uint32_t count)
{
    struct heapprof_mem *mem = blocks->addresses.mem;
    size_t entries_end = (size_t)blocks->addresses.numbers.count + count + 1;

    return rb_heapprof_address_table_reserve(&blocks->addresses, count) &&
           HEAPPROF_MEM_GROW(mem, blocks->pieces_of, blocks->pieces_of_capacity, entries_end) &&
           HEAPPROF_MEM_GROW(mem, blocks->owners, blocks->owners_capacity, entries_end) &&
           HEAPPROF_NUMBERS_RESERVE_MORE(&blocks->numbers, mem, blocks->pieces, count);
}

bool
rb_heapprof_blocks_room_p(const struct heapprof_blocks *blocks)
{
    uint32_t entry = rb_heapprof_address_table_next_entry(&blocks->addresses);

    return rb_heapprof_address_table_room_p(&blocks->addresses) &&
           entry < blocks->pieces_of_capacity && entry < blocks->owners_capacity &&
           rb_heapprof_numbers_room_p(&blocks->numbers);
}

/* ---- owners ---- */

void
rb_heapprof_blocks_own(struct heapprof_blocks *blocks, uintptr_t address,
                       const struct heapprof_owner *owner)
{
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    if (entry) blocks->owners[entry] = *owner;
}

void
rb_heapprof_blocks_forget_owners(struct heapprof_blocks *blocks)
{
    size_t used = blocks->addresses.numbers.end * sizeof(*blocks->owners);
    if (blocks->owners) memset(blocks->owners, 0, used);
}

/* ---- reading ---- */

uint32_t
rb_heapprof_blocks_next(const struct heapprof_blocks *blocks, uint32_t entry)
{
    while (++entry < blocks->addresses.numbers.end) {
        if (rb_heapprof_address_table_address(&blocks->addresses, entry)) return entry;
    }
    return 0;
}

size_t
rb_heapprof_blocks_end(const struct heapprof_blocks *blocks, uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    const struct heapprof_piece *last = entry ? &blocks->pieces[blocks->pieces_of[entry]] : NULL;

    return last ? last->begin + last->held_bytes : 0;
}

struct heapprof_piece *
rb_heapprof_blocks_beginning(const struct heapprof_blocks *blocks, uintptr_t address)
{
    uint32_t entry = rb_heapprof_address_table_find(&blocks->addresses, address);
    uint32_t number = entry ? blocks->pieces_of[entry] : 0;

    while (number && blocks->pieces[number].begin > 0) number = blocks->pieces[number].next;
    return number ? &blocks->pieces[number] : NULL;
}

double
rb_heapprof_blocks_in_use(const struct heapprof_blocks *blocks)
{
    uint32_t number;
    double bytes = 0;

    for (number = 1; number < blocks->numbers.end; number++) {
        const struct heapprof_piece *piece = &blocks->pieces[number];
        /* held_bytes is 0 if the piece is not in use */
        bytes += (double)piece->weight * (double)piece->held_bytes;
    }
    return bytes;
}

/* ---- debug ---- */

static uint32_t
check_block(const struct heapprof_blocks *blocks, uint32_t entry)
{
    size_t limit = SIZE_MAX;
    uint32_t number, count = 0;
    uintptr_t address = rb_heapprof_address_table_address(&blocks->addresses, entry);

    HEAPPROF_ASSERT(address == lifted_key(entry) ||
                    blocks->filter[rb_heapprof_block_filter_index(address)] > 0);
    for (number = blocks->pieces_of[entry]; number; number = blocks->pieces[number].next) {
        const struct heapprof_piece *piece = &blocks->pieces[number];
        HEAPPROF_ASSERT(number < blocks->numbers.end && piece->site && piece->held_bytes);
        HEAPPROF_ASSERT(piece->held_bytes <= piece->asked_bytes && piece->weight >= 1);
        HEAPPROF_ASSERT(piece->begin + piece->held_bytes <= limit);
        limit = piece->begin;
        count++;
    }
    HEAPPROF_ASSERT(count > 0);
    return count;
}

static uint32_t
check_retired(const struct heapprof_blocks *blocks)
{
    uint32_t number, count = 0;

    for (number = blocks->retired_head; number; number = blocks->pieces[number].next) {
        const struct heapprof_piece *piece = &blocks->pieces[number];
        HEAPPROF_ASSERT(number < blocks->numbers.end && piece->site && piece->held_bytes == 0);
        count++;
        HEAPPROF_ASSERT(count < blocks->numbers.end);
    }
    return count;
}

static uint32_t
link_i(const void *owner, uint32_t number)
{
    const struct heapprof_blocks *blocks = owner;
    const struct heapprof_piece *piece = &blocks->pieces[number];

    return piece->site ? HEAPPROF_NUMBER_USED : piece->next;
}

void
rb_heapprof_blocks_check(const struct heapprof_blocks *blocks)
{
    uint32_t entry, live = 0;

    rb_heapprof_address_table_check(&blocks->addresses);
    for (entry = 1; entry < blocks->addresses.numbers.end; entry++) {
        if (rb_heapprof_address_table_address(&blocks->addresses, entry) == 0) {
            HEAPPROF_ASSERT(blocks->pieces_of[entry] == 0 && blocks->owners[entry].object == 0);
            continue;
        }
        live += check_block(blocks, entry);
    }
    HEAPPROF_ASSERT(live == blocks->live_count);
    HEAPPROF_ASSERT(check_retired(blocks) == rb_heapprof_blocks_retired_count(blocks));
    rb_heapprof_numbers_check(&blocks->numbers, link_i, blocks);
}
