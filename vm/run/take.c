/* take.c - takes a snapshot: a photograph of a street in strips, while the street goes on.
 *
 *     full GC     if asked for; finalizers run
 *     owners      a walk over the heap in slices, other threads run in between
 *     names       callers of the allocator are named, without the VM lock
 *     copying     stacks without the VM lock; the rest in slices under it, all ractors stopped. Shows
 *                 the moment before the first slice
 *     adding up   without the VM lock
 *
 * profiler/copies.c copies and adds up; here is what stands around it. One snapshot is copied at
 * a time: a thread that comes with another one first copies the rest of the current one. The full
 * GC, and what runs between two slices, may run Ruby code. Nothing here makes a Ruby object or
 * raises. doc/design/snapshot.md has the whole way.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "vm/run/take.h"
#include "vm/thread/others.h"
#include "gc/book/state.h"
#include "vm/names/caller_names.h"
#include "internal/gc.h"
#include "vm/names/names.h"
#include "vm/run/origin.h"
#include "os/bell.h"
#include "os/clock.h"
#include "vm/labels/sets.h"
#include "vm/run/rss.h"
#include "vm/names/symbols.h"
#include "vm_sync.h"

/* ---- what a profile says about itself ---- */

static struct heapprof_facts
facts_now(void)
{
    const struct heapprof_account account = rb_heapprof_gc_account();

    return (struct heapprof_facts){
        .interval_bytes = rb_heapprof.run.options.interval_bytes,
        .malloc_interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.run.options),
        .gc_count = rb_gc_count(),
        .total_samples = account.total_samples,
        .dropped = account.dropped,
        .truncated = account.truncated,
        .doublings = account.doublings,
        .other_labels = rb_heapprof_label_others(),
        .left_out_labels = rb_heapprof_label_refused(),
        .budget_bytes = rb_heapprof.mem.budget_bytes,
        .used_bytes = rb_heapprof.mem.used_bytes,
        .start_ns = rb_heapprof.run.start_ns,
        .time_ns = rb_heapprof_clock_ns(CLOCK_REALTIME),
        .old_gc = account.majors[HEAPPROF_SURVIVED_MAJORS - 1],
        .moves = rb_heapprof_gc_moves(),
    };
}

/* ---- copying ---- */

static void lock_blocks(void *unused) { rb_heapprof_gc_lock_blocks(); }
static void unlock_blocks(void *unused) { rb_heapprof_gc_unlock_blocks(); }

/* Locks the blocks at a moment at which none of them waits for its site. A waiting block is in no
 * snapshot, and must not get a site while this one is copied. */
static void
hold_settled_blocks(void)
{
    enum { tries = 10 }; /* other threads may add blocks that wait in the meantime */

    for (int i = 0; i < tries; i++) {
        rb_heapprof_gc_resolve_all();
        rb_heapprof_caller_names_refresh();
        rb_heapprof_gc_lock_blocks();
        if (rb_heapprof_gc_waiting_blocks() == 0) return;
        rb_heapprof_gc_unlock_blocks();
    }
    rb_heapprof_gc_lock_blocks();
    rb_heapprof_gc_settle_blocks();
}

/* Returns NULL if there is no memory. */
static struct heapprof_copies *
begin_copies(bool owners, bool native_leaks)
{
    struct heapprof_asks asks = {
        .gone_p = rb_heapprof_gc_was_gone_p,
        .lock_blocks = lock_blocks, .unlock_blocks = unlock_blocks,
    };
    if (owners) asks.memsize = rb_heapprof_gc_memsize;

    bool before = rb_heapprof_gc_begin_own_work();
    hold_settled_blocks();
    struct heapprof_facts facts = facts_now();
    facts.owners = owners;
    if (!native_leaks || !rb_heapprof_gc_owners_complete_p())
        facts.old_gc = 0; /* no sample is a suspect */
    rb_heapprof_gc_note_gone();
    struct heapprof_copies *copies = rb_heapprof_copies_begin(&rb_heapprof.tables, &facts, &asks);
    if (copies) rb_heapprof_copies_follow(copies, &rb_heapprof.tables);
    rb_heapprof_gc_unlock_blocks();
    rb_heapprof_gc_end_own_work(before);
    return copies;
}

static bool
copy_step_i(void *copies)
{
    return rb_heapprof_copies_step(copies, true);
}

static bool
copy_step_without_memsize_i(void *copies)
{
    return rb_heapprof_copies_step(copies, false);
}

/* A memsize function may do anything that C can do, but must not change our tables. So what it
 * allocates is not sampled, and no GC may run meanwhile, because objects of the tables would die
 * in it. */
static bool
ask_and_copy_slice(struct heapprof_copies *copies, int64_t waited_ns)
{
    bool disabled = RTEST(rb_gc_disable_no_rest());
    bool before = rb_heapprof_gc_begin_own_work();

    rb_heapprof.work.reading = true;
    bool more = rb_heapprof_gc_slice(copy_step_i, copies, waited_ns);
    rb_heapprof.work.reading = false;
    rb_heapprof_gc_end_own_work(before);
    if (!disabled) rb_gc_enable();
    return more;
}

/* Under the VM lock. */
static void
copy_slice(int64_t waited_ns)
{
    struct heapprof_copies *copies = rb_heapprof.work.copies;
    bool more = copies->asks.memsize
                    ? ask_and_copy_slice(copies, waited_ns)
                    : rb_heapprof_gc_slice(copy_step_without_memsize_i, copies, waited_ns);

    if (!more) rb_heapprof.work.copies = NULL;
}

/* ---- names of callers ---- */

/* A search for names. Other threads may run meanwhile. */
struct take_naming {
    struct heapprof_symbols symbols;
    bool done;
};

static void *
read_files(void *data)
{
    struct take_naming *naming = data;
    bool before = rb_heapprof_gc_begin_own_work(); /* it may ask for memory */

    rb_heapprof_symbols_read_files(&naming->symbols);
    rb_heapprof_gc_end_own_work(before);
    naming->done = true;
    return NULL;
}

/* ---- the snapshot ---- */

/* A sample looks leaked if it has no known owner, so leaks need owners. */
#define WITH_OWNERS (RB_HEAPPROF_OWNERS | RB_HEAPPROF_NATIVE_LEAKS)

struct take_snapshot {
    unsigned int with;
    const struct heapprof_others *others; /* NULL: other threads do not run */
    struct heapprof_walk walk;   /* the search for owners */
    struct take_naming naming;
    int searches;                /* for names: how many more are allowed */
    int64_t waited_ns;           /* what other threads have taken since the last slice */
    struct heapprof_copies *copies;
    bool stacks_copied, added_up;
    struct heapprof_snapshot *snapshot;
    int *jump;                   /* the tag that others->between has jumped to, or 0 */
};

enum take_state {
    TAKEN_ALL,      /* the profiler is off, there is no memory, or all is copied */
    TAKEN_MOMENT,   /* what is copied now is as of this moment */
    TAKEN_SLICE,    /* there is more to copy */
    TAKEN_UNNAMED,  /* callers have to be named first */
    TAKEN_UNOWNED   /* another thread has begun another walk */
};

/* Under the VM lock. */
static enum take_state
begin_named(struct take_snapshot *taking)
{
    bool native_leaks = taking->with & RB_HEAPPROF_NATIVE_LEAKS;
    bool owners = taking->with & WITH_OWNERS;

    rb_heapprof_gc_resolve_all();
    rb_heapprof_gc_merge_dead_code();
    rb_heapprof_caller_names_enter(&taking->naming.symbols);
    rb_heapprof_symbols_free(&taking->naming.symbols);
    if (taking->searches > 0 && rb_heapprof_caller_names_collect(&taking->naming.symbols)) {
        return TAKEN_UNNAMED;
    }
    if (owners && !rb_heapprof_gc_owners_known_p(&taking->walk, native_leaks)) return TAKEN_UNOWNED;
    rb_heapprof_names_refresh();
    taking->copies = begin_copies(owners, native_leaks);
    rb_heapprof.work.copies = taking->copies;
    return taking->copies ? TAKEN_MOMENT : TAKEN_ALL;
}

/* Another thread may have copied the rest of this snapshot, and begun its own. */
static enum take_state
take_slice(struct take_snapshot *taking)
{
    enum take_state taken = TAKEN_ALL;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    bool begun = taking->copies;
    if (rb_heapprof_on && !begun && !rb_heapprof.work.copies) taken = begin_named(taking);
    else if (rb_heapprof_on && (!begun || rb_heapprof.work.copies == taking->copies))
        taken = TAKEN_SLICE;
    if (taken == TAKEN_SLICE) {
        copy_slice(taking->waited_ns);
        if (taking->copies && rb_heapprof.work.copies != taking->copies) taken = TAKEN_ALL;
    }
    RB_VM_LOCK_LEAVE();
    return taken;
}

static void
give_up(struct take_snapshot *taking)
{
    rb_heapprof_symbols_free(&taking->naming.symbols);
    rb_heapprof_snapshot_free(taking->snapshot);
    taking->snapshot = NULL;
    if (!taking->copies) return;
    RB_VM_LOCK_ENTER();
    if (rb_heapprof.work.copies == taking->copies) rb_heapprof.work.copies = NULL;
    rb_heapprof_copies_free(taking->copies);
    RB_VM_LOCK_LEAVE();
    taking->copies = NULL;
}

static VALUE
call_between(VALUE taking)
{
    ((struct take_snapshot *)taking)->others->between();
    return Qnil;
}

/* Returns false if others->between has jumped out. Then the snapshot is given up. */
static bool
let_others_run(struct take_snapshot *taking)
{
    if (!taking->others) return true;
    int64_t begun_ns = rb_heapprof_bell_now();
    rb_protect(call_between, (VALUE)taking, taking->jump);
    taking->waited_ns = rb_heapprof_bell_now() - begun_ns;
    if (*taking->jump) give_up(taking);
    return *taking->jump == 0;
}

/* Has the work done while others run, if that is possible: the work sets *done. An interrupt that
 * is pending comes first; most often it says that another thread waits for the GVL. Returns false
 * if the snapshot is given up. */
static bool
do_beside(struct take_snapshot *taking, void *(*work)(void *data), void *data, const bool *done)
{
    enum { tries = 5 };

    for (int i = 0; taking->others && !*done && i < tries; i++) {
        if (i > 0 && !let_others_run(taking)) return false;
        taking->others->beside(work, data);
    }
    return true;
}

/* ---- the search for names ---- */

/* Returns false if the snapshot is given up. */
static bool
search_names(struct take_snapshot *taking, bool beside)
{
    struct take_naming *naming = &taking->naming;
    bool before = rb_heapprof_gc_begin_own_work();

    rb_heapprof_symbols_locate(&naming->symbols);
    rb_heapprof_gc_end_own_work(before);
    naming->done = false;
    if (beside && !do_beside(taking, read_files, naming, &naming->done)) return false;
    if (!naming->done) read_files(naming);
    before = rb_heapprof_gc_begin_own_work();
    rb_heapprof_symbols_ask_exports(&naming->symbols);
    rb_heapprof_gc_end_own_work(before);
    return true;
}

/* ---- owners ---- */

/* The next slice of the walk. Returns false after the last one. */
static bool
walk_slice(struct take_snapshot *taking)
{
    bool more = false;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    taking->walk.waited_ns = taking->waited_ns;
    if (rb_heapprof_on)
        more = rb_heapprof_gc_find_owners(&taking->walk, taking->with & RB_HEAPPROF_NATIVE_LEAKS);
    RB_VM_LOCK_LEAVE();
    return more;
}

/* ---- the whole ---- */

static void *
copy_stacks(void *data)
{
    struct take_snapshot *taking = data;

    rb_heapprof_copies_copy_beside(taking->copies);
    taking->stacks_copied = true;
    return NULL;
}

/* New callers may come while names are searched. Other threads of this ractor run during the
 * first search only, so that the searches end. Returns false if the snapshot is given up. */
static bool
copy_in_slices(struct take_snapshot *taking)
{
    enum { searches = 3 };
    enum take_state taken;

    for (taking->searches = searches; (taken = take_slice(taking)) != TAKEN_ALL; ) {
        switch (taken) {
          case TAKEN_UNNAMED:
            if (!search_names(taking, taking->searches == searches)) return false;
            taking->searches--;
            break;
          case TAKEN_MOMENT:
            if (!do_beside(taking, copy_stacks, taking, &taking->stacks_copied)) return false;
            break;
          case TAKEN_UNOWNED:
            walk_slice(taking);
            /* fall through */
          default:
            if (!let_others_run(taking)) return false;
        }
    }
    return true;
}

static void *
add_up(void *data)
{
    struct take_snapshot *taking = data;
    bool before = rb_heapprof_gc_begin_own_work();

    taking->snapshot = rb_heapprof_copies_add_up(taking->copies);
    taking->copies = NULL;
    taking->added_up = true;
    rb_heapprof_gc_end_own_work(before);
    return NULL;
}

static void
add_rss(struct take_snapshot *taking)
{
    struct heapprof_pages pages = {0};

    while (rb_heapprof_rss_slice(&pages)) {
        if (!let_others_run(taking)) return;
        pages.waited_ns = taking->waited_ns;
    }
    rb_heapprof_rss_add(&taking->snapshot, &pages, taking->others);
}

static void
add_rest(struct take_snapshot *taking)
{
    if (taking->with & RB_HEAPPROF_RSS) add_rss(taking);
    if (!taking->snapshot) return;
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    rb_heapprof_origin_note(taking->snapshot);
    RB_VM_LOCK_LEAVE();
}

rb_heapprof_snapshot_t *
rb_heapprof_snapshot_beside(unsigned int with, const struct heapprof_others *others, int *jump)
{
    struct take_snapshot taking = { .with = with, .others = others, .jump = jump };

    *jump = 0;
    if (with & RB_HEAPPROF_GC && rb_heapprof_on) rb_gc_start();
    rb_heapprof_symbols_init(&taking.naming.symbols);
    while (with & WITH_OWNERS && walk_slice(&taking)) {
        if (!let_others_run(&taking)) return NULL;
    }
    if (!copy_in_slices(&taking)) return NULL;
    rb_heapprof_symbols_free(&taking.naming.symbols);
    if (taking.copies && !do_beside(&taking, add_up, &taking, &taking.added_up)) return NULL;
    if (taking.copies) add_up(&taking);
    if (taking.snapshot) add_rest(&taking);
    return taking.snapshot;
}

rb_heapprof_snapshot_t *
rb_heapprof_snapshot(unsigned int with)
{
    int jump;

    return rb_heapprof_snapshot_beside(with, NULL, &jump);
}

/* The entry of a sampled object, or 0. A sample that is not found may be pending, or young. */
static uint32_t
live_entry(VALUE object)
{
    const struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;
    uint32_t entry = rb_heapprof_address_table_find(live, object);

    if (entry) return entry;
    rb_vm_barrier();
    rb_heapprof_gc_settle_all();
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
