/* piece.c - a sample of a block is a piece of it (profiler/blocks.h), as a receipt is for one
 * purchase: this file writes the receipt. Compiled inside gc.c.
 *
 *     stack, caller --> site          block_site
 *     gap           --> weight        make_piece
 *     both          --> the block     add_piece, under the blocks' lock
 *
 * Under the VM lock, except make_piece and add_piece.
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
    if (id) rb_heapprof.work.unnamed_callers = true;
    return id;
}

/* The path of its callers. If memory is refused, it is cut at its inner end. */
HEAPPROF_COLD static uint32_t
c_path_of(const struct asking *asking)
{
    uint32_t path = 0;

    for (size_t i = asking->caller_count; i-- > 0; ) {
        uint32_t caller = identity_of_caller(asking->callers[i]);
        uint32_t longer = caller ? rb_heapprof_stacks_push(&rb_heapprof.tables.c_paths, path,
                                                           caller, 0)
                                 : HEAPPROF_NO_STACK;
        if (longer == HEAPPROF_NO_STACK) break;
        path = longer;
    }
    return path;
}

/* The path to a function and the function itself. 0 when memory is refused. */
HEAPPROF_COLD static uint32_t
path_with_caller(uint32_t path, uint32_t caller)
{
    uint32_t whole = caller ? rb_heapprof_stacks_push(&rb_heapprof.tables.c_paths, path, caller, 0)
                            : HEAPPROF_NO_STACK;
    return whole == HEAPPROF_NO_STACK ? path : whole;
}

/* A caller is known by its return address, which is behind its first byte. */
HEAPPROF_COLD uint32_t
rb_heapprof_gc_path_to(uintptr_t function)
{
    return path_with_caller(0, identity_of_caller(function + 1));
}

/* Returns 0 when memory is refused. */
HEAPPROF_COLD static uint32_t
site_of_asking(uint32_t stack, uint32_t label, const struct asking *asking)
{
    uint32_t class_id = identity_of_caller(asking->caller) | HEAPPROF_SITE_OF_BLOCKS;
    return rb_heapprof_sites_intern_called(&rb_heapprof.tables.sites, stack, class_id, label,
                                           c_path_of(asking));
}

/* No stack during a GC: it may begin anywhere, and says nothing of the code that runs. */
HEAPPROF_COLD static uint32_t
asking_stack(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return during_gc ? 0 : capture_stack();
}

HEAPPROF_COLD static uint32_t
asking_label(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return during_gc ? 0 : current_label();
}

/* Returns 0 when memory is refused. frame: the frame of the function that a gate called. */
HEAPPROF_COLD static uint32_t
block_site(const uintptr_t *frame, enum heapprof_block_allocator *allocator)
{
    uint32_t label = asking_label(); /* may make room: before the stack, which nobody holds */
    uint32_t stack = asking_stack();
    if (stack == HEAPPROF_NO_STACK) return 0;

    struct asking asking = asking_code(frame);
    if (stack) ask_method(&asking, GET_EC());
    *allocator = asking.allocator;
    return site_of_asking(stack, label, &asking);
}

/* The interval that this thread's gap was drawn at. */
HEAPPROF_COLD static uint64_t
gap_interval_bytes(void)
{
    const struct heapprof_thread *thread = &heapprof_thread;
    return rb_heapprof.run.options.malloc_all ? thread->all.interval_bytes
                                              : thread->own.interval_bytes;
}

/* Re-checked after taking a lock. */
HEAPPROF_COLD static bool
sampling_blocks_p(void)
{
    return rb_heapprof_on && gap_interval_bytes() > 0;
}

/* A piece with the weight of the current gap's interval. */
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

/* Under the blocks' lock. Reported memory goes to the end of the block of its size. */
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
enter_at(uint32_t site, enum heapprof_block_allocator allocator, uintptr_t address, size_t begin,
         size_t size_bytes)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_piece piece = make_piece(begin, size_bytes, site);
    piece.allocator = allocator;
    if (piece.site == 0) return false;

    lock_blocks();
    bool entered = add_piece(address, &piece);
    unlock_blocks();
    if (entered)
        rb_heapprof_sites_count_alloc(&tables->sites, piece.site, piece.weight, size_bytes);
    return entered;
}

HEAPPROF_COLD static bool
block_enter(const uintptr_t *frame, uintptr_t address, size_t begin, size_t size_bytes)
{
    enum heapprof_block_allocator allocator = HEAPPROF_OF_UNKNOWN;
    uint32_t site = block_site(frame, &allocator);

    return enter_at(site, allocator, address, begin, size_bytes);
}
