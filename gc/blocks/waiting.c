/* waiting.c - samples of blocks that could not be entered at once. Compiled inside gc.c.
 *
 * A thread that asks for memory without the GVL, or may not wait for the VM lock, can neither walk
 * a stack nor change the tables of sites. So its sample waits: the piece is in its block, where free
 * and realloc find it, under a site that is none, and who called is kept here. Whoever has the VM
 * lock next settles it, at no stack: C code that runs without the GVL has none that is Ruby's.
 *
 *     waiting  [piece 7, caller]   pieces  7: site WAITING        --settle-->  7: site 12
 *                                          9: site WAITING, retired            9: free
 *
 * There is room for so many pieces, made by whoever settles; with none left a sample is dropped.
 * All under the blocks' lock. No memory is asked for but by settle, which has the VM lock.
 */
/* With memcheck each request is a sample, and a library may make many in one go. */
HEAPPROF_COLD static uint32_t
waiting_most(void)
{
    return rb_heapprof.options.memcheck ? WAITING_MOST_OF_MEMCHECK : WAITING_MOST;
}

/* Enters a sample to be settled later; false: there is no room. With the lock. */
HEAPPROF_COLD static bool
wait_for_site(uintptr_t address, size_t begin, size_t size_bytes, uintptr_t caller)
{
    struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    struct heapprof_piece piece = make_piece(begin, size_bytes, HEAPPROF_SITE_WAITING);
    if (waiting_count == waiting_most() || !rb_heapprof_blocks_room_p(blocks)) return false;

    waiting[waiting_count++] = (struct heapprof_waiting){
        .piece = rb_heapprof_blocks_next_piece(blocks), .caller = caller
    };
    return add_piece(address, &piece);
}

HEAPPROF_COLD static void
sample_without_stack(void *mem, size_t begin, size_t size_bytes)
{
    struct addresses addresses = take_addresses();

    lock_blocks(); /* for without it there may be a stop, and nobody to ask who passes */
    if (sampling_blocks_p()) {
        uintptr_t caller = find_caller(&addresses, 3);
        if (!wait_for_site((uintptr_t)mem, begin, size_bytes, caller)) {
            RUBY_ATOMIC_SIZE_INC(rb_heapprof.dropped_blocks);
        }
    }
    unlock_blocks();
}

/* Under the VM lock, too. */
HEAPPROF_COLD static void
settle_one(const struct heapprof_waiting *one)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    uint32_t site;

    do {
        uint32_t identity = identity_of_caller(one->caller);
        site = rb_heapprof_sites_intern(&tables->sites, 0, identity | HEAPPROF_SITE_OF_BLOCKS);
    } while (site == 0 && rb_heapprof_gc_make_room());
    struct heapprof_piece *piece = &tables->blocks.pieces[one->piece];
    rb_heapprof.total_samples++;
    if (site == 0) {
        rb_heapprof.dropped++; /* the piece stays as it is, and counts for nothing */
        return;
    }
    piece->site = site;
    rb_heapprof_sites_count_alloc(&tables->sites, site, piece->weight, piece->asked_bytes);
}

HEAPPROF_COLD static void
settle_waiting(void)
{
    for (size_t i = 0; i < waiting_count; i++) settle_one(&waiting[i]);
    waiting_count = 0;
    rb_heapprof_blocks_reserve(&rb_heapprof.tables.blocks, waiting_most());
}

/* The profiler is off: nothing new waits. */
HEAPPROF_COLD void
rb_heapprof_gc_forget_waiting(void)
{
    lock_blocks();
    waiting_count = 0;
    unlock_blocks();
}
