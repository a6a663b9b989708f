/* waiting.c - samples of blocks that cannot be entered at once sit in a waiting room. Compiled
 * inside gc.c.
 *
 * A thread that asks for memory without the GVL, or may not wait for the VM lock, can neither
 * walk a stack nor change the tables of sites. So its sample waits. The piece is entered with
 * the placeholder site HEAPPROF_SITE_WAITING, where free and realloc find it, and its caller is
 * stored (book/state.c). The next thread that has the VM lock settles it, without a stack: C
 * code without the GVL has no Ruby stack.
 *
 *     waiting  [piece 7, caller]   pieces  7: site WAITING        --settle-->  7: site 12
 *                                          9: site WAITING, retired            9: free
 *
 * A settle also reserves room for pieces to come. If no room is left, a sample is dropped. All
 * is under the blocks' lock. Only settle asks for memory: it has the VM lock, too.
 */
/* With memcheck each request is a sample, and a library may make many at once. */
HEAPPROF_COLD static uint32_t
waiting_most(void)
{
    return rb_heapprof.run.options.memcheck ? WAITING_MOST_OF_MEMCHECK : WAITING_MOST;
}

/* Enters a sample to be settled later. Returns false if there is no room. Under the blocks'
 * lock. */
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

    lock_blocks(); /* without it a stop might come in between, and free the callers */
    if (sampling_blocks_p()) {
        uintptr_t caller = find_caller(&addresses, 3);
        if (!wait_for_site((uintptr_t)mem, begin, size_bytes, caller)) {
            RUBY_ATOMIC_SIZE_INC(rb_heapprof.account.dropped_blocks);
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
    rb_heapprof.account.total_samples++;
    if (site == 0) {
        rb_heapprof.account.dropped++; /* the piece stays waiting, and never counts */
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

/* The profiler is off, so no new sample comes to wait. */
HEAPPROF_COLD void
rb_heapprof_gc_forget_waiting(void)
{
    lock_blocks();
    waiting_count = 0;
    unlock_blocks();
}
