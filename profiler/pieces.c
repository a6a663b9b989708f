/* pieces.c - copies of the pieces of blocks, in the order in which rows are made.
 *
 *     blocks --under their lock--> copies by number --> the same, sorted by site, owner --> rows.c
 *
 * Other threads change blocks without the VM lock. Only the copying needs blocks to stand still.
 * The slow work is done on the copies: finding the stacks of owners, sorting and adding up.
 *
 *   I1  A piece whose site is not known yet is not copied.
 *   I2  Equal tables give the same order: pieces of one site and owner are in the order of their
 *       numbers.
 *
 * Copying allocates nothing. Sorting allocates from the snapshot's account.
 */
#include "profiler/pieces.h"

#include <stdlib.h>

/* ---- copying ---- */

void
rb_heapprof_pieces_copy(struct heapprof_copies *copies, uint32_t entry)
{
    const struct heapprof_blocks *blocks = &copies->tables->blocks;
    struct heapprof_owner owner = {0};
    uint32_t number;

    if (copies->snapshot->facts.owners) owner = blocks->owners[entry];
    for (number = blocks->pieces_of[entry]; number; number = blocks->pieces[number].next) {
        if (blocks->pieces[number].site == HEAPPROF_SITE_WAITING) continue;
        copies->pieces[number] = (struct heapprof_copied_piece){
            .piece = blocks->pieces[number], .number = number,
            .owner = owner.object, .owner_class = owner.object ? owner.class_id : 0,
            .owner_seen = owner.seen,
        };
    }
}

/* ---- owners ---- */

static uint64_t
hash_i(const void *addresses, uint32_t entry)
{
    return rb_heapprof_index_hash(((const uintptr_t *)addresses)[entry]);
}

/* An index of the samples that have an owner's address. */
struct owners {
    struct heapprof_index index; /* address -> entry */
    uint32_t count;
};

static bool
enter_samples(struct owners *owners, const struct heapprof_copies *copies, struct heapprof_mem *mem)
{
    const uintptr_t *addresses = copies->addresses;
    uint32_t entry;

    for (entry = 1; entry < copies->samples_end; entry++) {
        if (!addresses[entry]) continue;
        if (!rb_heapprof_index_reserve(&owners->index, mem, owners->count, hash_i, addresses)) {
            return false;
        }
        rb_heapprof_index_insert(&owners->index, hash_i(addresses, entry), entry);
        owners->count++;
    }
    return true;
}

/* Returns the stack that allocated the owner. Returns 0 if the owner is not sampled, or does
 * not have the address at which it was seen. */
static uint32_t
stack_of(const struct owners *owners, const struct heapprof_copies *copies,
         const struct heapprof_copied_piece *copy)
{
    uint64_t probe = rb_heapprof_index_hash(copy->owner);
    uint32_t moves = copies->snapshot->facts.moves, entry;

    for (; (entry = rb_heapprof_index_at(&owners->index, probe)) != 0; probe++) {
        const struct heapprof_sample *sample = &copies->samples[entry];
        if (copies->addresses[entry] != copy->owner) continue;
        bool same = rb_heapprof_owner_same_p(copy->owner_seen, sample->birth_gc, moves);
        return same ? copies->sites[sample->site].stack : 0;
    }
    return 0;
}

static bool
find_stacks(struct heapprof_copies *copies)
{
    struct heapprof_mem *mem = &copies->snapshot->mem;
    struct owners owners = {0};
    bool entered = enter_samples(&owners, copies, mem);

    for (size_t i = 0; entered && i < copies->piece_count; i++) {
        struct heapprof_copied_piece *copy = &copies->pieces[i];
        if (copy->owner) copy->owner_stack = stack_of(&owners, copies, copy);
    }
    rb_heapprof_index_release(&owners.index, mem);
    return entered;
}

/* ---- order ---- */

static int
compare_pieces(const void *left, const void *right)
{
    const struct heapprof_copied_piece *a = left, *b = right;

    if (a->piece.site != b->piece.site) return a->piece.site < b->piece.site ? -1 : 1;
    if (a->owner_class != b->owner_class) return a->owner_class < b->owner_class ? -1 : 1;
    if (a->owner_stack != b->owner_stack) return a->owner_stack < b->owner_stack ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Leaves out the numbers that have no piece. Returns how many pieces have an owner. */
static size_t
close_up(struct heapprof_copies *copies)
{
    size_t count = 0, owned = 0;

    for (size_t i = 1; i < copies->piece_count; i++) {
        if (!copies->pieces[i].piece.site) continue;
        owned += copies->pieces[i].owner != 0;
        copies->pieces[count++] = copies->pieces[i];
    }
    copies->piece_count = count;
    return owned;
}

bool
rb_heapprof_pieces_sort(struct heapprof_copies *copies)
{
    size_t owned = copies->pieces ? close_up(copies) : 0;

    if (!copies->pieces) copies->piece_count = 0;
    copies->snapshot->facts.live_samples += copies->piece_count;
    if (owned > 0 && copies->addresses && !find_stacks(copies)) return false;
    if (copies->piece_count > 0) {
        qsort(copies->pieces, copies->piece_count, sizeof(*copies->pieces), compare_pieces);
    }
    return true;
}
