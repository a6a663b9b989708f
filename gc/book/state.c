/* state.c - the profiler's one state, and what the collector says of now: how many GCs, how
 * many moves. Compiled inside gc.c, before the other files.
 */
#include "gc/book/state.h"

struct heapprof rb_heapprof;
bool rb_heapprof_on;
bool rb_heapprof_clears;
uint64_t rb_heapprof_numbers_edition;
uint8_t rb_heapprof_block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

/* Why the collector is to tell that it clears the caches of ractors (gc/events.c). */
static struct {
    bool sampling; /* a run is on */
    bool baseline; /* the next dump is to tell what was there at the last one */
} clears_wanted;

/* why: one of clears_wanted. All ractors are stopped. */
HEAPPROF_COLD static void
want_clears(bool *why, bool wanted)
{
    *why = wanted;
    rb_heapprof_clears = clears_wanted.sampling || clears_wanted.baseline;
}

/* ---- the account ---- */

HEAPPROF_COLD struct heapprof_account
rb_heapprof_gc_account(void)
{
    struct heapprof_account account = rb_heapprof.account;

    account.total_samples += account.dropped_blocks;
    account.dropped += account.dropped_blocks;
    return account;
}

/* ---- the snapshot under way ---- */

HEAPPROF_COLD void
rb_heapprof_gc_copy_rest(void)
{
    while (rb_heapprof.work.copies && rb_heapprof_copies_step(rb_heapprof.work.copies, false))
        continue;
    rb_heapprof.work.copies = NULL;
}

HEAPPROF_COLD void
rb_heapprof_gc_copy_rest_alone(void)
{
    if (rb_heapprof.work.copies) rb_heapprof_copies_alone(rb_heapprof.work.copies);
    rb_heapprof_gc_copy_rest();
}

/* ---- blocks that wait for their site (gc/blocks/waiting.c) ---- */

enum { WAITING_MOST = 256, WAITING_MOST_OF_MEMCHECK = 32768 };

struct heapprof_waiting {
    uint32_t  piece;
    uintptr_t caller;
    uintptr_t outermost; /* with memcheck: the last of its callers (gc/blocks/path.c); 0: none */
    const rb_execution_context_t *ec; /* with memcheck: of the thread, if it has a Ruby stack */
};

static struct heapprof_waiting waiting[WAITING_MOST_OF_MEMCHECK];
static size_t waiting_count;
static size_t waiting_for_gvl; /* the first of them, whose threads have a Ruby stack */

HEAPPROF_COLD size_t
rb_heapprof_gc_waiting_blocks(void)
{
    return waiting_count;
}

/* ---- the collector's counts ---- */

HEAPPROF_COLD uint32_t
rb_heapprof_gc_moves(void)
{
    return (uint32_t)((rb_objspace_t *)rb_gc_get_objspace())->profile.compact_count;
}

/* The last GC that has left alive what is freed now. The collector frees what the GC of now has
 * found dead; and while objects are marked, nothing has survived that GC yet. Without the GVL the
 * answer may be off by one. It is 0, and not asked for, where no ages are counted, and at the end
 * of the VM, which memcheck follows: there is no collector any more. */
HEAPPROF_PART static uint32_t
last_gc_now(void)
{
    if (!rb_heapprof.tables.sites.lifetimes || rb_heapprof.run.ending) return 0;
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return (uint32_t)(objspace->profile.count - (during_gc || is_marking(objspace)));
}

HEAPPROF_COLD static size_t
gc_count_now(void)
{
    return ((rb_objspace_t *)rb_gc_get_objspace())->profile.count;
}
