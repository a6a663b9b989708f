/* piece.c - one sample of a block as a piece of it (profiler/blocks.h): its site, its weight, its entry. Compiled inside gc.c.
 */
#include "gc/book/state.h"

HEAPPROF_COLD static uint32_t
identity_of_caller(uintptr_t caller)
{
    struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    if (!caller) return 0;

    uintptr_t key = rb_heapprof_callers_key(caller);
    uint32_t id = rb_heapprof_identities_find(identities, key);
    if (id) return id;
    id = rb_heapprof_identities_add(identities, identities_of_page(key), key);
    if (id) rb_heapprof.unnamed_callers = true;
    return id;
}

/* A GC, which may begin anywhere, says nothing of whoever is running. */
HEAPPROF_COLD static uint32_t
asking_stack(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return during_gc ? 0 : capture_stack();
}

/* frame: of the function that a gate called. */
HEAPPROF_COLD static uint32_t
block_site(const uintptr_t *frame)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t stack = asking_stack();
    if (stack == HEAPPROF_NO_STACK) return 0;

    uint32_t caller = identity_of_caller(asking_caller(frame));
    return rb_heapprof_sites_intern(&tables->sites, stack, caller | HEAPPROF_SITE_OF_BLOCKS);
}

/* That the gap of the sample at hand was drawn at. */
HEAPPROF_COLD static uint64_t
gap_interval_bytes(void)
{
    const struct heapprof_thread *thread = &heapprof_thread;
    return rb_heapprof.options.malloc_all ? thread->all.interval_bytes : thread->own.interval_bytes;
}

/* Still, after waiting for a lock. */
HEAPPROF_COLD static bool
sampling_blocks_p(void)
{
    return rb_heapprof_on && gap_interval_bytes() > 0;
}

/* As asked for now. */
HEAPPROF_COLD static struct heapprof_piece
make_piece(size_t begin, size_t size_bytes, uint32_t site)
{
    return (struct heapprof_piece){
        .begin = begin,
        .asked_bytes = size_bytes,
        .site = site,
        .birth_gc = (uint32_t)rb_gc_count(),
        .weight = (float)rb_heapprof_sampler_weight(gap_interval_bytes(), size_bytes),
    };
}

/* With the lock. What is only reported goes to the end of its size's block. */
HEAPPROF_COLD static bool
add_piece(uintptr_t address, struct heapprof_piece *piece)
{
    struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;

    if (rb_heapprof_reported_block_p(address)) {
        piece->begin = rb_heapprof_blocks_end(blocks, address);
    }
    return rb_heapprof_blocks_add(blocks, address, piece);
}

HEAPPROF_COLD static bool
enter_at(uint32_t site, uintptr_t address, size_t begin, size_t size_bytes)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_piece piece = make_piece(begin, size_bytes, site);
    if (piece.site == 0) return false;

    lock_blocks();
    bool entered = add_piece(address, &piece);
    unlock_blocks();
    if (entered) rb_heapprof_sites_count_alloc(&tables->sites, piece.site, piece.weight, size_bytes);
    return entered;
}

HEAPPROF_COLD static bool
block_enter(const uintptr_t *frame, uintptr_t address, size_t begin, size_t size_bytes)
{
    return enter_at(block_site(frame), address, begin, size_bytes);
}
