/* growth.c - samples of blocks that grow: look before you leap. Compiled inside gc.c.
 *
 * Behind realloc the caller still has the address of its old block, which is gone. That block
 * may be the very table in which a name is looked up. And an exception there would lose the new
 * block. So everything that reads the VM, or may run out of stack, is done before realloc, if
 * the growth may be a sample:
 *
 *     gate_realloc   left < most that it grows by: stack, caller, site, room for a piece
 *     realloc        may collect, and so have the site given up: then it is void
 *     gate_resized   left < 0: a piece at that site; without one, it waits for none
 *
 * A site at which nothing is entered is in no profile.
 *
 * With malloc=all a growth is sampled behind realloc all the same (malloc_all.c). Among Ractors
 * a sample there may not wait for the VM lock. Two locks instead of one cost so many samples
 * their stacks that test/accuracy showed a bias.
 */

HEAPPROF_COLD static uint32_t
find_site(const uintptr_t *frame)
{
    enum heapprof_block_allocator allocator; /* memcheck goes with malloc=all */
    uint32_t site;

    do {
        site = block_site(frame, &allocator);
    } while (site == 0 && rb_heapprof_gc_make_room());
    return site;
}

/* Under both locks. */
HEAPPROF_COLD static void
prepare_growth(struct heapprof_thread *thread, const uintptr_t *frame)
{
    if (!rb_heapprof_on || rb_heapprof.work.reading) return;
    begin_change();
    rb_heapprof_gc_settle_blocks();
    while (!rb_heapprof_blocks_reserve(&rb_heapprof.tables.blocks, 1) &&
           rb_heapprof_gc_make_room()) continue;
    uint32_t site = find_site(frame);
    end_change();
    thread->prepared = (struct heapprof_prepared){
        .site = site, .epoch = rb_heapprof.epoch, .rooms = rb_heapprof.room.rooms
    };
}

HEAPPROF_COLD static void
rb_heapprof_prepare(void)
{
    struct heapprof_thread *thread = &heapprof_thread;

    thread->prepared.site = 0;
    if (!rb_heapprof_on || rb_heapprof.run.options.malloc_all || !may_sample_p()) return;
    if (!room_on_stack_p(GET_EC(), true)) return;
    unsigned int lev = rb_gc_vm_lock_no_barrier();
    lock_blocks();
    prepare_growth(thread, __builtin_frame_address(0));
    unlock_blocks();
    rb_gc_vm_unlock_no_barrier(lev);
}

/* Under the VM lock. Returns false if the sample has to wait. */
HEAPPROF_COLD static bool
sample_growth(const struct heapprof_prepared *prepared, uintptr_t address, size_t begin,
              size_t size_bytes)
{
    if (prepared->site == 0 || prepared->epoch != rb_heapprof.epoch ||
        prepared->rooms != rb_heapprof.room.rooms || rb_heapprof.work.reading) return false;
    begin_change();
    rb_heapprof.account.total_samples++;
    if (!enter_at(prepared->site, HEAPPROF_OF_UNKNOWN, address, begin, size_bytes))
        rb_heapprof.account.dropped++;
    end_change();
    return true;
}

/* Its caller is not looked for: that takes more of the stack than there may be. */
HEAPPROF_COLD static void
growth_waits(uintptr_t address, size_t begin, size_t size_bytes)
{
    const struct asking unknown = { .caller = 0 };

    lock_blocks();
    if (sampling_blocks_p() && !wait_for_site(address, begin, size_bytes, &unknown)) {
        RUBY_ATOMIC_SIZE_INC(rb_heapprof.account.dropped_blocks);
    }
    unlock_blocks();
}

HEAPPROF_COLD static void
rb_heapprof_grown(void *mem, size_t begin, size_t end)
{
    struct heapprof_thread *thread = &heapprof_thread;

    if (!block_due_p(thread, &thread->own, end - begin)) return;
    if (!rb_heapprof_on || rb_heapprof.run.options.malloc_all || thread->own_work) {
        thread_redraw(thread);
        return;
    }
    if (may_sample_p()) {
        unsigned int lev = rb_gc_vm_lock_no_barrier();
        bool wait = sampling_blocks_p() &&
                    !sample_growth(&thread->prepared, (uintptr_t)mem, begin, end - begin);
        rb_gc_vm_unlock_no_barrier(lev);
        if (wait) growth_waits((uintptr_t)mem, begin, end - begin);
    }
    else {
        sample_without_stack(mem, begin, end - begin);
    }
    thread->prepared.site = 0;
    thread_redraw(thread);
}
