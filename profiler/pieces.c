/* pieces.c - copies of the pieces of blocks, in the order that rows are made in.
 *
 *     blocks --under their lock--> copies --sorted by site, owner--> rows.c
 *
 * Blocks change in other threads, without the VM lock. Only the copying needs them to be still: what
 * takes its time, sorting and adding up, is done on the copies.
 *
 *   I1  a piece whose site is not known yet is not copied.
 *   I2  equal tables give the same order: pieces of one site and owner come by their numbers.
 *
 * Allocates from the snapshot's account, also while blocks are held.
 */
#include "profiler/pieces.h"

#include <stdlib.h>

/* The stack that allocated the object, if it is sampled. */
static uint32_t
stack_of(const struct heapprof_tables *tables, uintptr_t object)
{
    uint32_t entry = rb_heapprof_address_table_find(&tables->live.addresses, object);
    if (!entry) return 0;

    uint32_t site = rb_heapprof_live_table_sample(&tables->live, entry)->site;
    return rb_heapprof_sites_get(&tables->sites, site)->stack;
}

static int
compare_pieces(const void *left, const void *right)
{
    const struct heapprof_copied_piece *a = left, *b = right;

    if (a->piece.site != b->piece.site) return a->piece.site < b->piece.site ? -1 : 1;
    if (a->owner_class != b->owner_class) return a->owner_class < b->owner_class ? -1 : 1;
    if (a->owner_stack != b->owner_stack) return a->owner_stack < b->owner_stack ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* owner: NULL if not known. */
static struct heapprof_copied_piece
copy_of(const struct heapprof_tables *tables, uint32_t number, const struct heapprof_owner *owner)
{
    struct heapprof_copied_piece copy = {.piece = tables->blocks.pieces[number], .number = number};

    if (owner) {
        copy.owner_class = owner->class_id;
        copy.owner_stack = stack_of(tables, owner->object);
    }
    return copy;
}

static bool
copy_pieces(struct heapprof_pieces *pieces, struct heapprof_snapshot *snapshot,
            const struct heapprof_tables *tables, struct heapprof_native_leaks *leaks)
{
    const struct heapprof_blocks *blocks = &tables->blocks;
    uint32_t entry, number;

    if (!HEAPPROF_MEM_GROW(&snapshot->mem, pieces->all, pieces->capacity, blocks->live_count)) {
        return false;
    }
    for (entry = 0; (entry = rb_heapprof_blocks_next(blocks, entry)) != 0; ) {
        bool owned = snapshot->facts.owners && blocks->owners[entry].object;
        for (number = blocks->pieces_of[entry]; number; number = blocks->pieces[number].next) {
            const struct heapprof_piece *piece = &blocks->pieces[number];
            if (piece->site == HEAPPROF_SITE_WAITING) continue;
            pieces->all[pieces->count++] = copy_of(tables, number, owned ? &blocks->owners[entry] : NULL);
            if (!owned && piece->begin == 0) {
                rb_heapprof_native_leaks_block(leaks, piece->site, piece->birth_gc);
            }
        }
    }
    return true;
}

bool
rb_heapprof_pieces_take(struct heapprof_pieces *pieces, struct heapprof_snapshot *snapshot,
                        const struct heapprof_tables *tables, const struct heapprof_asks *asks,
                        struct heapprof_native_leaks *leaks)
{
    bool copied;

    if (asks && asks->lock_blocks) asks->lock_blocks(asks->data);
    copied = copy_pieces(pieces, snapshot, tables, leaks);
    if (asks && asks->unlock_blocks) asks->unlock_blocks(asks->data);
    if (pieces->count > 0) qsort(pieces->all, pieces->count, sizeof(*pieces->all), compare_pieces);
    snapshot->facts.live_samples += pieces->count;
    return copied;
}

void
rb_heapprof_pieces_free(struct heapprof_pieces *pieces, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, pieces->all, pieces->capacity);
    pieces->count = 0;
}
