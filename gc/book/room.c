/* room.c - room in the tables when the budget is used up, and the interval that follows how
 * many samples live. A full library makes room in this order: what nobody borrows any more
 * goes, shelves are pushed together, and at last every other book goes. Compiled inside gc.c.
 *
 *     give_up_dead    what only old totals need: sites, stacks, names        any refusal
 *     give_back       packs the tables of blocks                             the budget is used up
 *     thin            doubles the intervals, and drops half of the samples   the budget is used up
 *
 * A sample calls this, under the VM lock. A GC calls refine, with all ractors stopped, and may
 * call rb_heapprof_gc_make_room when it resolves a pending sample.
 */
#include "gc/book/room.h"
#include "gc/book/track.h"

/* Numbers of the tables will be given anew: who keeps some is told by the edition. */
HEAPPROF_COLD static void
forget_numbers(void)
{
    rb_heapprof.work.stack_used |= HEAPPROF_STACK_NAMED;
    rb_heapprof_numbers_edition++;
}

/* ---- what is dead ---- */

/* Sites without live samples go. If the budget is used up, some of them go, and others stand
 * for what they had allocated. Where the system has no memory, all of them are folded. Returns
 * how many went. */
HEAPPROF_COLD static uint32_t
fold_dead(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    return rb_heapprof.mem.over_budget ? rb_heapprof_thin_dead(tables, &rb_heapprof.sampler)
                                       : rb_heapprof_sites_fold(&tables->sites);
}

/* Trims unused stacks and names. Returns true if more than 1/16 was freed. For one sample it
 * returns true once at most, because a retry frees only what the failed walk had just added. */
HEAPPROF_COLD static bool
trim(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    bool again = rb_heapprof.room.trimmed_at_sample == rb_heapprof.account.total_samples;

    rb_heapprof.room.rooms++;
    rb_heapprof.room.trimmed_at_sample = rb_heapprof.account.total_samples;
    forget_numbers();
    rb_heapprof_gc_lock_blocks();
    uint32_t entries = rb_heapprof_tables_trim_entries(tables);
    uint32_t trimmed = rb_heapprof_tables_trim(tables, &letting_go);
    rb_heapprof_gc_unlock_blocks();
    return !again && trimmed > entries / 16;
}

/* Frees what only dead samples need. Where the system has no memory, it does so at most once a
 * GC. On a retry, one freed site does not count: it may be the caller's own from the failed
 * attempt. */
HEAPPROF_COLD static bool
give_up_dead(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();
    uint64_t now = objspace->profile.count + 1;

    if (!rb_heapprof.mem.over_budget) {
        if (rb_heapprof.room.folded_at_gc == now) return false;
        rb_heapprof.room.folded_at_gc = now;
    }
    rb_heapprof_gc_copy_rest();
    bool again = rb_heapprof.room.trimmed_at_sample == rb_heapprof.account.total_samples;
    bool folded = fold_dead() > (again ? 1 : 0);
    return trim() || folded;
}

/* Under the blocks' lock. Gaps that other threads have drawn at the old intervals end as they
 * are: their samples know the interval. */
HEAPPROF_COLD static void
set_intervals(uint64_t interval_bytes, uint64_t malloc_interval_bytes)
{
    struct heapprof_options *options = &rb_heapprof.run.options;

    options->interval_bytes = interval_bytes;
    options->malloc_interval_bytes = malloc_interval_bytes;
    rb_heapprof.sampler.interval_bytes = interval_bytes;
    rb_heapprof.malloc_sampler.interval_bytes = rb_heapprof_options_malloc_interval(options);
    rb_heapprof.epoch++;
    rb_heapprof_gc_redraw_blocks();
}

HEAPPROF_COLD static void
double_intervals(unsigned int times)
{
    const struct heapprof_options *options = &rb_heapprof.run.options;

    set_intervals(options->interval_bytes << times,
                  options->malloc_interval_bytes == HEAPPROF_AS_INTERVAL
                      ? HEAPPROF_AS_INTERVAL : options->malloc_interval_bytes << times);
}

HEAPPROF_COLD static struct heapprof_thinning
thinning_now(void)
{
    return (struct heapprof_thinning){
        .interval_bytes = rb_heapprof.run.options.interval_bytes,
        .malloc_interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.run.options),
        .sampler = &rb_heapprof.sampler,
        .page_head = samples_of_page,
        .forget = forget_sample,
    };
}

/* True while objects are on the move. Slots that they have left may not be touched, for their
 * pages may be locked. The mode alone is not enough: it stays until all is swept. Nor is the flag
 * alone: it is set already while objects are marked. */
HEAPPROF_COLD static bool
moving_p(const rb_objspace_t *objspace)
{
    return gc_mode(objspace) == gc_mode_compacting && objspace->flags.during_compacting;
}

/* Under the blocks' lock. Doubles the intervals, and leaves the thinning to steps. Returns how
 * often it has doubled them, 0 if it could not. */
HEAPPROF_COLD static unsigned int
begin_thinning(unsigned int full)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_thinning thinning = thinning_now();
    unsigned int doublings = rb_heapprof_thinning_doublings(tables, &thinning, full);

    if (doublings == 0) return 0;
    double_intervals(doublings);
    rb_heapprof.room.thinning = thinning_now();
    rb_heapprof_thinning_begin(&rb_heapprof.room.thinning, tables);
    return doublings;
}

/* Under the blocks' lock. */
HEAPPROF_COLD static void
thin_step(unsigned int of, uint32_t count)
{
    if (rb_heapprof_thinning_step(&rb_heapprof.tables, &rb_heapprof.room.thinning, of, count))
        rb_heapprof.room.rooms++;
}

/* Under the blocks' lock. Where stacks have no room all samples are thinned, for all of them
 * hold stacks. */
HEAPPROF_COLD static void
thin_all(void)
{
    struct heapprof_tables *tables = &rb_heapprof.tables;

    rb_heapprof_gc_copy_rest();
    forget_numbers();
    rb_heapprof_thin(tables, &rb_heapprof.room.thinning);
    rb_heapprof.room.rooms++;
    rb_heapprof_tables_trim(tables, &letting_go);
}

enum { OF_SAMPLES = HEAPPROF_FULL_OBJECTS | HEAPPROF_FULL_BLOCKS };

/* Thins some samples. Intervals double when steps have nothing left to thin. Returns true if
 * there is room now, or less in use than there was. */
HEAPPROF_COLD static bool
thin(unsigned int full)
{
    enum { for_room = 256 };
    unsigned int of = full & OF_SAMPLES ? full & OF_SAMPLES : OF_SAMPLES;

    rb_heapprof_gc_lock_blocks();
    bool left = rb_heapprof_thinning_left_p(&rb_heapprof.room.thinning, of);
    if (!left) {
        unsigned int doublings = begin_thinning(full);
        rb_heapprof.account.doublings += doublings;
        left = doublings > 0;
    }
    if (left && full & OF_SAMPLES) thin_step(of, for_room);
    else if (left) thin_all();
    rb_heapprof_gc_unlock_blocks();
    return left;
}

/* Each sample takes the thinning under way a little further. So it comes to its end while new
 * samples are far fewer than those that it leaves. */
HEAPPROF_COLD static void
thin_a_little(void)
{
    enum { a_little = 32 };

    if (rb_heapprof.work.reading || moving_p(rb_gc_get_objspace())) return;
    rb_heapprof.work.stack_used |= HEAPPROF_STACK_WALKED;
    rb_heapprof_gc_lock_blocks();
    thin_step(OF_SAMPLES, a_little);
    rb_heapprof_gc_unlock_blocks();
}

/* True if live samples use over a quarter of the budget. Packing would return some. */
HEAPPROF_COLD static bool
hoarding_p(void)
{
    size_t bytes = rb_heapprof.tables.live.samples_capacity *
                   (sizeof(struct heapprof_sample) + sizeof(struct heapprof_address_entry));
    return bytes > rb_heapprof.mem.budget_bytes / 4;
}

HEAPPROF_COLD static unsigned int
full_tables(void)
{
    rb_heapprof_gc_lock_blocks();
    unsigned int full = rb_heapprof_tables_full(&rb_heapprof.tables);
    rb_heapprof_gc_unlock_blocks();
    return full;
}

/* Packs the tables of blocks: freed blocks leave holes. Not while pieces wait, which are known
 * by their numbers (gc/blocks/waiting.c), nor in the midst of a thinning, which keeps its place
 * by a number. */
HEAPPROF_COLD static bool
give_back(void)
{
    struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    size_t used_bytes = rb_heapprof.mem.used_bytes;

    rb_heapprof_gc_copy_rest();
    rb_heapprof_gc_lock_blocks();
    if (rb_heapprof_gc_waiting_blocks() == 0 &&
        !rb_heapprof_thinning_left_p(&rb_heapprof.room.thinning, HEAPPROF_FULL_BLOCKS)) {
        rb_heapprof_blocks_pack(blocks);
        rb_heapprof.room.rooms++;
    }
    rb_heapprof_gc_unlock_blocks();
    return rb_heapprof.mem.used_bytes < used_bytes;
}

HEAPPROF_COLD bool
rb_heapprof_gc_make_room(void)
{
    if (rb_heapprof.work.reading || moving_p(rb_gc_get_objspace())) return false;
    unsigned int full = full_tables();
    if (!(full & OF_SAMPLES) && give_up_dead()) return true;
    if (!rb_heapprof.mem.over_budget) return false;
    if (!(full & OF_SAMPLES) && give_back()) return true;
    if (!full && !hoarding_p()) return false;
    return thin(full);
}

/* ---- dead code ---- */

/* Merges what dead code has left. Not while a snapshot is copied: that would have to copy the
 * rest in one piece first, and dead code can wait. Nor in a GC, which would take longer. */
HEAPPROF_COLD static void
merge_dead_code(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (during_gc || rb_heapprof.work.reading || rb_heapprof.work.copies) return;
    forget_numbers();
    rb_heapprof.room.rooms++;
    rb_heapprof_gc_lock_blocks();
    rb_heapprof_dead_code_merge(&rb_heapprof.tables);
    rb_heapprof_gc_unlock_blocks();
}

HEAPPROF_COLD void
rb_heapprof_gc_merge_dead_code(void)
{
    if (!rb_heapprof_dead_code_due_p(&rb_heapprof.tables)) return;
    begin_change();
    merge_dead_code();
    end_change();
}

/* ---- the automatic interval ---- */

static uint64_t
live_samples(void)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;
    return (uint64_t)tables->live.addresses.numbers.count + tables->blocks.live_count;
}

HEAPPROF_COLD static void
coarsen(void)
{
    if (live_samples() <= 2 * HEAPPROF_AUTO_SAMPLES) return;
    if (rb_heapprof_thinning_left_p(&rb_heapprof.room.thinning, OF_SAMPLES)) return;
    if (rb_heapprof.work.reading || moving_p(rb_gc_get_objspace())) return;
    rb_heapprof_gc_lock_blocks();
    begin_thinning(0);
    rb_heapprof_gc_unlock_blocks();
}

HEAPPROF_COLD static void
follow_samples(void)
{
    if (rb_heapprof.run.auto_interval) coarsen();
    if (rb_heapprof_thinning_left_p(&rb_heapprof.room.thinning, OF_SAMPLES)) thin_a_little();
    if (rb_heapprof_dead_code_due_p(&rb_heapprof.tables)) merge_dead_code();
}

/* Halves the intervals. Samples that there are keep their weight. */
HEAPPROF_COLD static void
refine(void)
{
    struct heapprof_options *options = &rb_heapprof.run.options;

    if (!rb_heapprof.run.auto_interval || live_samples() >= HEAPPROF_AUTO_SAMPLES / 2 ||
        options->interval_bytes <= HEAPPROF_AUTO_LEAST_BYTES) return;
    rb_heapprof_gc_lock_blocks();
    set_intervals(options->interval_bytes / 2,
                  options->malloc_interval_bytes == HEAPPROF_AS_INTERVAL
                      ? HEAPPROF_AS_INTERVAL : (options->malloc_interval_bytes + 1) / 2);
    rb_heapprof_gc_unlock_blocks();
}
