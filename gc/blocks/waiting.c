/* waiting.c - samples of blocks that cannot be entered at once sit in a waiting room. Compiled
 * inside gc.c.
 *
 * A thread that asks for memory without the GVL, or may not wait for the VM lock, can neither
 * walk a stack nor change the tables of sites. So its sample waits. The piece is entered with
 * the placeholder site HEAPPROF_SITE_WAITING, where free and realloc find it, and its caller is
 * stored (book/state.c). The next thread that has the VM lock settles it, without a stack.
 *
 *     waiting  [piece 7, caller]   pieces  7: site WAITING        --settle-->  7: site 12
 *                                          9: site WAITING, retired            9: free
 *
 * With memcheck, the samples of a thread that has released the GVL wait for that thread: when it
 * has the GVL again, it is still in the C method that released it, and its Ruby stack is theirs.
 * They come first in the waiting room, so that the rest can be settled without looking at them.
 * If half of the room is theirs, they are settled without a stack, as they are with several
 * Ractors: the thread has the scheduler's lock then, and may not wait for the VM lock.
 *
 * A settle also reserves room for pieces to come. If no room is left, a sample is dropped. All
 * is under the blocks' lock. Only settle asks for memory: it has the VM lock, too.
 */
#include "gc/interpreter.h"

/* With memcheck each request is a sample, and a library may make many at once. */
HEAPPROF_COLD static uint32_t
waiting_most(void)
{
    return rb_heapprof.run.options.memcheck ? WAITING_MOST_OF_MEMCHECK : WAITING_MOST;
}

/* True if the scheduler says that this thread runs. A thread that is on its way to the GVL, or
 * just gave it up, does not: ruby_thread_has_gvl_p takes those for owners. */
HEAPPROF_COLD static bool
has_gvl_p(const rb_execution_context_t *ec)
{
    const rb_thread_t *thread = rb_ec_thread_ptr(ec);
    return thread && thread->ractor && thread->ractor->threads.sched.running == thread;
}

/* The running thread if it has released the GVL in a C method; otherwise NULL. */
HEAPPROF_COLD static const rb_execution_context_t *
stack_without_gvl(void)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);

    if (!rb_heapprof.run.options.memcheck || !ec || !ruby_native_thread_p()) return NULL;
    return has_gvl_p(ec) ? NULL : ec;
}

/* The room has space for one more. */
HEAPPROF_COLD static void
enter_waiting(const struct heapprof_waiting *one)
{
    size_t place = waiting_count++;

    if (one->ec) {
        waiting[place] = waiting[waiting_for_gvl];
        place = waiting_for_gvl++;
        heapprof_thread.waits_for_gvl = true;
    }
    waiting[place] = *one;
}

/* Enters a sample to be settled later. Returns false if there is no room. Under the blocks'
 * lock. */
HEAPPROF_COLD static bool
wait_for_site(uintptr_t address, size_t begin, size_t size_bytes, const struct asking *asking)
{
    struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    struct heapprof_piece piece = make_piece(begin, size_bytes, HEAPPROF_SITE_WAITING);
    piece.allocator = asking->allocator;
    if (waiting_count == waiting_most() || !rb_heapprof_blocks_room_p(blocks)) return false;

    const struct heapprof_waiting one = {
        .piece = rb_heapprof_blocks_next_piece(blocks),
        .caller = asking->caller,
        .outermost = asking->caller_count ? asking->callers[asking->caller_count - 1] : 0,
        .ec = stack_without_gvl(),
    };
    enter_waiting(&one);
    return add_piece(address, &piece);
}

HEAPPROF_COLD static void
sample_without_stack(void *mem, size_t begin, size_t size_bytes)
{
    struct addresses addresses = take_addresses();

    lock_blocks(); /* without it a stop might come in between, and free the callers */
    if (sampling_blocks_p()) {
        struct asking asking = asking_by_unwinding(&addresses, 3);
        if (!wait_for_site((uintptr_t)mem, begin, size_bytes, &asking)) {
            RUBY_ATOMIC_SIZE_INC(rb_heapprof.account.dropped_blocks);
        }
    }
    unlock_blocks();
}

/* ec: whose stack that is; NULL if it is not known. Under the VM lock, too. */
HEAPPROF_COLD static void
settle_one(const struct heapprof_waiting *one, uint32_t stack, const rb_execution_context_t *ec)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct asking asking = { .caller = one->caller, .callers = { one->outermost },
                             .caller_count = one->outermost != 0 };
    uint32_t site;

    if (ec) ask_method(&asking, ec);
    do {
        site = site_of_asking(stack, 0, &asking);
        if (site && !rb_heapprof_blocks_name(&tables->blocks, one->piece, site)) site = 0;
    } while (site == 0 && rb_heapprof_gc_make_room());
    struct heapprof_piece *piece = &tables->blocks.pieces[one->piece];
    rb_heapprof.account.total_samples++;
    if (site == 0) {
        rb_heapprof.account.dropped++; /* the piece stays waiting, and never counts */
        return;
    }
    rb_heapprof_sites_count_alloc(&tables->sites, site, piece->weight, piece->asked_bytes);
}

/* all: also those that wait for the GVL. */
HEAPPROF_COLD static void
settle_waiting(bool all)
{
    if (all || waiting_for_gvl > waiting_most() / 2) waiting_for_gvl = 0;
    for (size_t i = waiting_for_gvl; i < waiting_count; i++) settle_one(&waiting[i], 0, NULL);
    waiting_count = waiting_for_gvl;
    rb_heapprof_blocks_reserve(&rb_heapprof.tables.blocks, waiting_most());
}

/* Leaves those of that thread for the next settle, without a stack. */
HEAPPROF_COLD static void
give_up_stack(const rb_execution_context_t *ec)
{
    for (size_t i = waiting_for_gvl; i-- > 0; ) {
        if (waiting[i].ec != ec) continue;
        struct heapprof_waiting one = waiting[i];
        waiting[i] = waiting[--waiting_for_gvl];
        waiting[waiting_for_gvl] = one;
    }
}

HEAPPROF_COLD static void
settle_with_stack(const rb_execution_context_t *ec, uint32_t stack)
{
    rb_heapprof_stacks_hold(&rb_heapprof.tables.stacks, stack);
    for (size_t i = waiting_for_gvl; i-- > 0; ) {
        if (waiting[i].ec != ec) continue;
        settle_one(&waiting[i], stack, ec);
        waiting[i] = waiting[--waiting_for_gvl];
        waiting[waiting_for_gvl] = waiting[--waiting_count];
    }
    rb_heapprof_stacks_unhold(&rb_heapprof.tables.stacks, stack);
}

HEAPPROF_COLD void
rb_heapprof_gc_settle_own(void)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    uint32_t stack = HEAPPROF_NO_STACK;

    if (!heapprof_thread.waits_for_gvl || !ec) return;
    heapprof_thread.waits_for_gvl = false;
    bool own_work = rb_heapprof_gc_begin_own_work();
    bool alone = rb_heapprof_on && !rb_multi_ractor_p() && !rb_heapprof.work.reading;
    if (alone) {
        begin_change();
        stack = rb_heapprof_frames_capture(ec);
    }
    lock_blocks();
    if (stack == HEAPPROF_NO_STACK) give_up_stack(ec);
    else settle_with_stack(ec, stack);
    unlock_blocks();
    if (alone) end_change();
    rb_heapprof_gc_end_own_work(own_work);
}

/* The profiler is off, so no new sample comes to wait. */
HEAPPROF_COLD void
rb_heapprof_gc_forget_waiting(void)
{
    lock_blocks();
    waiting_count = waiting_for_gvl = 0;
    unlock_blocks();
}
