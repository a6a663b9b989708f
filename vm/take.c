/* take.c - takes a snapshot: what stands around the copying and adding up of profiler/snapshot.c.
 *
 *     full GC     if asked for; finalizers run
 *     owners      a walk over the heap in slices, other threads in between
 *     names       callers of the allocator are named, without the VM lock
 *     snapshot    under the VM lock, all ractors stopped
 *
 * Only the full GC runs Ruby code; nothing here makes a Ruby object.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "run.h"
#include "gc/state.h"
#include "caller_names.h"
#include "names.h"
#include "rss.h"
#include "symbols.h"
#include "vm_sync.h"

/* ---- what a profile says about itself ---- */

static struct heapprof_facts
facts_now(void)
{
    return (struct heapprof_facts){
        .interval_bytes = rb_heapprof.options.interval_bytes,
        .malloc_interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.options),
        .gc_count = rb_gc_count(),
        .total_samples = rb_heapprof.total_samples + rb_heapprof.dropped_blocks,
        .dropped = rb_heapprof.dropped + rb_heapprof.dropped_blocks,
        .truncated = rb_heapprof.truncated,
        .doublings = rb_heapprof.doublings,
        .budget_bytes = rb_heapprof.mem.budget_bytes,
        .used_bytes = rb_heapprof.mem.used_bytes,
        .start_ns = rb_heapprof.start_ns,
        .time_ns = rb_heapprof_wall_clock_ns(),
        .old_gc = rb_heapprof.majors[HEAPPROF_SURVIVED_MAJORS - 1],
    };
}

/* ---- owners ---- */

/* The next slice of the walk; false after the last, and when it has to be done again anyway. */
static bool
walk_slice(struct heapprof_walk *walk, bool reached)
{
    bool more = false;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (rb_heapprof_on) {
        more = rb_heapprof_gc_find_owners(walk, reached) && rb_heapprof_gc_walk_valid_p(walk);
    }
    RB_VM_LOCK_LEAVE();
    return more;
}

static struct heapprof_walk
walk_in_slices(bool reached, void (*between)(void))
{
    struct heapprof_walk walk = {0};

    while (walk_slice(&walk, reached)) {
        if (between) between();
    }
    return walk;
}

/* Under the VM lock. When a GC or another walk came in between, in one piece. */
static void
walk_again_unless_known(const struct heapprof_walk *walk, bool reached)
{
    struct heapprof_walk again = {0};

    if (rb_heapprof_gc_owners_known_p(walk, reached)) return;
    while (rb_heapprof_gc_find_owners(&again, reached));
}

static void lock_blocks(void *unused) { rb_heapprof_gc_lock_blocks(); }
static void unlock_blocks(void *unused) { rb_heapprof_gc_unlock_blocks(); }

/* A memsize function may do anything that C can do, but not with our tables: what it allocates is
 * no sample; and no GC may run while it is asked, in which what is in the tables dies. */
static struct heapprof_snapshot *
take(bool owners, bool native_leaks)
{
    struct heapprof_facts facts = facts_now();
    struct heapprof_snapshot *snapshot;
    struct heapprof_asks asks = {
        .gone_p = rb_heapprof_gc_gone_p,
        .lock_blocks = lock_blocks, .unlock_blocks = unlock_blocks,
    };

    facts.owners = owners;
    if (!native_leaks || !rb_heapprof_gc_owners_complete_p()) facts.old_gc = 0; /* nobody is suspect */
    if (owners) asks.memsize = rb_heapprof_gc_memsize;
    bool before = rb_heapprof_gc_begin_own_work();
    rb_heapprof.reading = true;
    snapshot = rb_heapprof_snapshot_take(&rb_heapprof.tables, &facts, &asks);
    rb_heapprof.reading = false;
    rb_heapprof_gc_end_own_work(before);
    return snapshot;
}

/* ---- names of callers ---- */

/* A search for them, which other threads may run beside. */
struct naming {
    struct heapprof_symbols symbols;
    bool done;
};

static void *
search(void *data)
{
    struct naming *naming = data;
    bool before = rb_heapprof_gc_begin_own_work(); /* it may ask for memory */

    rb_heapprof_symbols_search(&naming->symbols);
    rb_heapprof_gc_end_own_work(before);
    naming->done = true;
    return NULL;
}

/* An interrupt that waits already keeps it from running without the GVL. */
static void
search_names(struct naming *naming, bool without_gvl)
{
    naming->done = false;
    if (without_gvl) rb_nogvl(search, naming, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (!naming->done) search(naming);
}

/* ---- the snapshot ---- */

/* Who looks leaked is known of what nobody is known to hold. */
#define WITH_OWNERS (RB_HEAPPROF_OWNERS | RB_HEAPPROF_NATIVE_LEAKS)

struct taking {
    unsigned int with;
    struct heapprof_walk walk; /* for owners */
    struct naming naming;
    struct heapprof_snapshot *snapshot;
};

/* Under the VM lock. False, with the callers to name, if there are such and search says so. */
static bool
take_named(struct taking *taking, bool search)
{
    bool native_leaks = taking->with & RB_HEAPPROF_NATIVE_LEAKS;
    bool owners = taking->with & WITH_OWNERS;

    rb_heapprof_gc_resolve_all();
    rb_heapprof_caller_names_enter(&taking->naming.symbols);
    rb_heapprof_symbols_free(&taking->naming.symbols);
    if (search && rb_heapprof_caller_names_collect(&taking->naming.symbols)) return false;

    bool disabled = !owners || RTEST(rb_gc_disable()); /* ends one that has begun */
    if (owners) walk_again_unless_known(&taking->walk, native_leaks);
    rb_heapprof_names_refresh();
    rb_heapprof_caller_names_refresh();
    taking->snapshot = take(owners, native_leaks);
    if (!disabled) rb_gc_enable();
    if (taking->with & RB_HEAPPROF_RSS) rb_heapprof_rss_add(&taking->snapshot);
    return true;
}

static bool
try_to_take(struct taking *taking, bool search)
{
    bool taken = true;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (rb_heapprof_on) taken = take_named(taking, search);
    RB_VM_LOCK_LEAVE();
    return taken;
}

/* While names are searched new callers may be seen; other threads of this ractor add to those the first
 * time alone. */
rb_heapprof_snapshot_t *
rb_heapprof_snapshot_between(unsigned int with, void (*between)(void))
{
    enum { searches = 3 };
    struct taking taking = { .with = with };

    if (with & RB_HEAPPROF_GC && rb_heapprof_on) rb_gc_start();
    if (with & WITH_OWNERS) taking.walk = walk_in_slices(with & RB_HEAPPROF_NATIVE_LEAKS, between);
    rb_heapprof_symbols_init(&taking.naming.symbols);
    for (int done = 0; !try_to_take(&taking, done < searches); done++) {
        search_names(&taking.naming, between && done == 0);
    }
    rb_heapprof_symbols_free(&taking.naming.symbols);
    return taking.snapshot;
}

rb_heapprof_snapshot_t *
rb_heapprof_snapshot(unsigned int with)
{
    return rb_heapprof_snapshot_between(with, NULL);
}

/* 0: not sampled. What is not in the table may be pending. */
static uint32_t
live_entry(VALUE object)
{
    const struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;
    uint32_t entry = rb_heapprof_address_table_find(live, object);

    if (entry) return entry;
    rb_vm_barrier();
    rb_heapprof_gc_resolve_all();
    return rb_heapprof_address_table_find(live, object);
}

bool
rb_heapprof_snapshot_object(VALUE object, struct heapprof_snapshot **snapshot)
{
    uint32_t entry = 0;

    *snapshot = NULL;
    if (RB_SPECIAL_CONST_P(object)) return true;

    RB_VM_LOCK_ENTER();
    if (rb_heapprof_on) entry = live_entry(object);
    if (entry) {
        struct heapprof_facts facts = facts_now();
        *snapshot = rb_heapprof_snapshot_take_sample(&rb_heapprof.tables, &facts, entry);
    }
    RB_VM_LOCK_LEAVE();
    return !entry || *snapshot;
}
