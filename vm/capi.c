/* capi.c - the C API (include/ruby/heapprof.h): a run from start to stop, and what can
 * be read of it. api.c is the same for Ruby, on top of this.
 *
 *     off --start--> on --snapshot, set_interval--> on --stop--> off
 *
 * Changes of state happen with all ractors stopped, under the VM lock. No function
 * here allocates a Ruby object; only snapshot with gc runs Ruby code (finalizers).
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "ruby/thread.h"
#include "gc/state.h"
#include "frames.h"
#include "os/interpose.h"
#include "names.h"
#include "rss.h"
#include "run.h"
#include "symbols.h"
#include "vm_sync.h"
#include <math.h>
#include <sys/random.h>
#include <time.h>

/* ---- structs of the caller's, which another version of the header may have sized ---- */

/* No struct of ours will be longer: a size above is a mistake. */
#define SIZE_LIMIT 4096

/* Bytes that both know of a caller's struct; 0 when its size is none. */
static size_t
known_bytes(size_t size, size_t least, size_t ours)
{
    if (size < least || size > SIZE_LIMIT) return 0;
    return size < ours ? size : ours;
}

#define LEAST_BYTES(type, first) (offsetof(type, first) + sizeof(((type *)0)->first))
#define KNOWN_BYTES(type, first, size) known_bytes((size), LEAST_BYTES(type, first), sizeof(type))

/* Fills a caller's struct; what we do not know of it becomes 0. */
static void
give(void *theirs, size_t size, const void *ours, size_t known)
{
    memcpy(theirs, ours, known);
    memset((char *)theirs + known, 0, size - known);
}

/* ---- start and stop ---- */

uint64_t
rb_heapprof_random_seed(void)
{
    uint64_t seed;
    struct timespec now;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed)) return seed;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^
           (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 32;
}

static int64_t
wall_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void
rb_heapprof_seed(uint64_t seed)
{
    const struct heapprof_options *options = &rb_heapprof.options;

    rb_heapprof_sampler_init(&rb_heapprof.sampler, options->interval_bytes, seed);
    rb_heapprof_sampler_init(&rb_heapprof.malloc_sampler,
                             rb_heapprof_options_malloc_interval(options), ~seed);
}

bool
rb_heapprof_start_with(const struct heapprof_options *options)
{
    struct heapprof_mem mem;
    struct heapprof_callers passing;
    bool started = false;

    if (rb_heapprof_on) return false;
    rb_heapprof_mem_init(&mem, SIZE_MAX);
    rb_heapprof_callers_init(&passing, &mem);
    rb_heapprof_names_find_passing(&passing);
    if (rb_heapprof_options_malloc_interval(options) > 0) rb_heapprof_gc_load_unwinder();
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (!rb_heapprof_on) {
        uint64_t epoch = rb_heapprof.epoch;
        rb_heapprof_gc_hold_blocks();
        rb_heapprof = (struct heapprof){
            .options = *options, .epoch = epoch, .start_ns = wall_clock_ns()
        };
        rb_heapprof_mem_init(&rb_heapprof.mem, options->memory_bytes);
        rb_heapprof_tables_init(&rb_heapprof.tables, &rb_heapprof.mem, rb_heapprof_block_filter);
        rb_heapprof_seed(options->seeded ? options->seed : rb_heapprof_random_seed());
        rb_heapprof_gc_release_blocks();
        rb_heapprof_names_add_passing(&passing);
        rb_heapprof.before = rb_heapprof_rss_code();
        rb_heapprof_gc_start();
        if (options->malloc_all) rb_heapprof_interpose_start();
        started = true;
    }
    RB_VM_LOCK_LEAVE();
    rb_heapprof_callers_free(&passing);
    return started;
}

static struct rb_heapprof_config
default_config(size_t size)
{
    struct heapprof_options options;

    rb_heapprof_options_default(&options);
    return (struct rb_heapprof_config){
        .size = size,
        .interval_bytes = options.interval_bytes,
        .malloc_interval_bytes = options.malloc_interval_bytes,
        .malloc_all = options.malloc_all,
        .depth = options.depth,
        .memory_bytes = options.memory_bytes,
    };
}

void
rb_heapprof_config_init_sized(struct rb_heapprof_config *config, size_t size)
{
    struct rb_heapprof_config defaults = default_config(size);
    size_t known = KNOWN_BYTES(struct rb_heapprof_config, interval_bytes, size);

    if (known) give(config, size, &defaults, known);
}

/* The caller's settings, and the defaults of what its struct lacks. False: its size is none, or
 * something is set that we do not know. */
static bool
complete_config(struct rb_heapprof_config *config, const struct rb_heapprof_config *theirs)
{
    size_t known = KNOWN_BYTES(struct rb_heapprof_config, interval_bytes, theirs->size);

    if (known == 0) return false;
    for (size_t i = known; i < theirs->size; i++) {
        if (((const char *)theirs)[i]) return false;
    }
    *config = default_config(sizeof(*config));
    memcpy(config, theirs, known);
    return true;
}

/* False: out of range. */
static bool
options_of(const struct rb_heapprof_config *config, struct heapprof_options *options)
{
    const char *expected;

    options->interval_bytes = config->interval_bytes;
    options->malloc_interval_bytes = config->malloc_interval_bytes;
    options->malloc_all = config->malloc_all != 0;
    options->depth = config->depth;
    options->memory_bytes = config->memory_bytes;
    options->seeded = config->seed != NULL;
    if (config->seed) options->seed = *config->seed;
    if (rb_heapprof_options_out_of_range(options, &expected)) return false;
    return !options->malloc_all || !rb_heapprof_gc_malloc_all_refusal();
}

enum rb_heapprof_started
rb_heapprof_start(const struct rb_heapprof_config *theirs)
{
    struct heapprof_options options;
    struct rb_heapprof_config config;

    rb_heapprof_options_default(&options);
    if (theirs && !(complete_config(&config, theirs) && options_of(&config, &options))) {
        return RB_HEAPPROF_BAD_CONFIG;
    }
    return rb_heapprof_start_with(&options) ? RB_HEAPPROF_STARTED : RB_HEAPPROF_RUNNING;
}

int
rb_heapprof_set_interval(uint64_t interval_bytes)
{
    struct heapprof_options options;
    const char *expected;
    bool set;

    rb_heapprof_options_default(&options);
    options.interval_bytes = interval_bytes;
    if (rb_heapprof_options_out_of_range(&options, &expected)) return 0;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    set = rb_heapprof_on;
    if (set) {
        rb_heapprof_gc_hold_blocks(); /* threads without the GVL draw gaps, too */
        rb_heapprof.options.interval_bytes = interval_bytes;
        rb_heapprof.sampler.interval_bytes = interval_bytes;
        rb_heapprof.malloc_sampler.interval_bytes =
            rb_heapprof_options_malloc_interval(&rb_heapprof.options);
        rb_heapprof_gc_redraw();
        rb_heapprof_gc_release_blocks();
    }
    RB_VM_LOCK_LEAVE();
    return set;
}

void
rb_heapprof_stop(void)
{
    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (rb_heapprof_on) {
        rb_heapprof_gc_stop();
        if (rb_heapprof.options.malloc_all) rb_heapprof_interpose_stop();
        rb_heapprof_frames_free();
        rb_heapprof_gc_hold_blocks();
        rb_heapprof_tables_free(&rb_heapprof.tables);
        rb_heapprof_gc_release_blocks();
    }
    RB_VM_LOCK_LEAVE();
}

int
rb_heapprof_running_p(void)
{
    return rb_heapprof_on;
}

/* ---- snapshots ---- */

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
        .budget_bytes = rb_heapprof.mem.budget_bytes,
        .used_bytes = rb_heapprof.mem.used_bytes,
        .start_ns = rb_heapprof.start_ns,
        .time_ns = wall_clock_ns(),
        .old_gc = rb_heapprof.majors[HEAPPROF_SURVIVED_MAJORS - 1],
    };
}

/* ---- owners ---- */

/* The next slice of the walk; false after the last, and when it has to be done again anyway. */
static bool
walk_slice(size_t *page, uint64_t *stamp)
{
    bool more = false;

    RB_VM_LOCK_ENTER();
    rb_vm_barrier();
    if (rb_heapprof_on) {
        if (*page == 0) {
            rb_heapprof_gc_forget_owners();
            *stamp = rb_heapprof_gc_heap_stamp();
        }
        more = rb_heapprof_gc_find_owners(page) && *stamp == rb_heapprof_gc_heap_stamp();
    }
    RB_VM_LOCK_LEAVE();
    return more;
}

static uint64_t
walk_in_slices(void (*between)(void))
{
    uint64_t stamp = 0;
    size_t page = 0;

    while (walk_slice(&page, &stamp)) {
        if (between) between();
    }
    return stamp;
}

/* Under the VM lock. When a GC came in between, in one piece. */
static void
walk_again_unless(uint64_t stamp)
{
    size_t page = 0;

    if (stamp == rb_heapprof_gc_heap_stamp()) return;
    rb_heapprof_gc_forget_owners();
    while (rb_heapprof_gc_find_owners(&page));
}

static void hold_blocks(void *unused) { rb_heapprof_gc_hold_blocks(); }
static void release_blocks(void *unused) { rb_heapprof_gc_release_blocks(); }

/* A memsize function may do anything that C can do, but not with our tables: what it allocates is
 * no sample; and no GC may run while it is asked, in which what is in the tables dies. */
static struct heapprof_snapshot *
take(bool owners, bool native_leaks)
{
    struct heapprof_facts facts = facts_now();
    struct heapprof_snapshot *snapshot;
    struct heapprof_asks asks = {
        .gone_p = rb_heapprof_gc_gone_p,
        .hold_blocks = hold_blocks, .release_blocks = release_blocks,
    };

    facts.owners = owners;
    if (!native_leaks) facts.old_gc = 0;
    if (owners) asks.memsize = rb_heapprof_gc_memsize;
    if (!rb_heapprof_gc_owners_complete_p()) facts.old_gc = 0; /* nobody is suspect */
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
    uint64_t stamp;           /* of the walk for owners */
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
    rb_heapprof_names_enter_callers(&taking->naming.symbols);
    rb_heapprof_symbols_free(&taking->naming.symbols);
    if (search && rb_heapprof_names_collect_callers(&taking->naming.symbols)) return false;

    bool disabled = !owners || RTEST(rb_gc_disable()); /* ends one that has begun */
    if (owners) walk_again_unless(taking->stamp);
    rb_heapprof_names_refresh();
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
    if (with & WITH_OWNERS) taking.stamp = walk_in_slices(between);
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

/* ---- reading a snapshot ---- */

struct row_reader {
    const struct heapprof_snapshot *snapshot;
    struct heapprof_frame *raw;
    struct rb_heapprof_frame *frames;
    size_t capacity;
};

static bool
reader_reserve(struct row_reader *reader, size_t count)
{
    if (count <= reader->capacity) return true;

    struct heapprof_frame *raw = realloc(reader->raw, count * sizeof(*raw));
    if (raw) reader->raw = raw;
    struct rb_heapprof_frame *frames = realloc(reader->frames, count * sizeof(*frames));
    if (frames) reader->frames = frames;
    if (!raw || !frames) return false;
    reader->capacity = count;
    return true;
}

static const char *
text(const struct row_reader *reader, uint32_t string)
{
    return rb_heapprof_strings_get(&reader->snapshot->strings, string, NULL);
}

static void
reader_frames(struct row_reader *reader, uint32_t stack, struct rb_heapprof_frame *frames,
              size_t count)
{
    rb_heapprof_snapshot_frames(reader->snapshot, stack, reader->raw, count);
    for (size_t i = 0; i < count; i++) {
        const struct heapprof_frame *raw = &reader->raw[i];
        frames[i] = (struct rb_heapprof_frame){
            text(reader, raw->name), text(reader, raw->path), raw->line
        };
    }
}

static int64_t
whole(double value)
{
    return (int64_t)llround(value);
}

static bool
reader_row(struct row_reader *reader, const struct heapprof_row *row, struct rb_heapprof_row *out)
{
    size_t count = rb_heapprof_snapshot_frames(reader->snapshot, row->stack, NULL, 0);
    size_t owner_count = rb_heapprof_snapshot_frames(reader->snapshot, row->owner_stack, NULL, 0);

    if (!reader_reserve(reader, count + owner_count)) return false;
    reader_frames(reader, row->stack, reader->frames, count);
    reader_frames(reader, row->owner_stack, reader->frames + count, owner_count);
    *out = (struct rb_heapprof_row){
        .class_name = text(reader, row->blocks ? 0 : row->class_name),
        .caller = row->blocks ? text(reader, row->class_name) : NULL,
        .frames = reader->frames,
        .frame_count = count,
        .owner = row->owner ? text(reader, row->owner) : NULL,
        .owner_frames = reader->frames + count,
        .owner_frame_count = owner_count,
        .native_leak = row->native_leak,
        .gc_age = row->gc_age == HEAPPROF_AGE_DEAD ? -1 : (int64_t)row->gc_age,
        .alloc_objects = whole(row->alloc_objects),
        .alloc_slot_space = whole(row->alloc_slot_bytes),
        .alloc_malloc_space = whole(row->alloc_malloc_bytes),
        .alloc_space = whole(row->alloc_slot_bytes + row->alloc_malloc_bytes),
        .inuse_objects = whole(row->inuse_objects),
        .inuse_slot_space = whole(row->inuse_slot_bytes),
        .inuse_malloc_space = whole(row->inuse_malloc_bytes),
        .inuse_space = whole(row->inuse_slot_bytes + row->inuse_malloc_bytes),
        .rss_space = whole(row->resident_bytes),
        .memsize = whole(row->memsize_bytes),
    };
    return true;
}

int
rb_heapprof_snapshot_each(const rb_heapprof_snapshot_t *snapshot,
                          int (*function)(const struct rb_heapprof_row *row, void *data), void *data)
{
    struct row_reader reader = { .snapshot = snapshot };
    int result = 0;

    for (size_t i = 0; i < snapshot->row_count && result == 0; i++) {
        struct rb_heapprof_row row;
        result = reader_row(&reader, &snapshot->rows[i], &row) ? function(&row, data) : -1;
    }
    free(reader.raw);
    free(reader.frames);
    return result;
}

int
rb_heapprof_allocation_stack(VALUE object,
                             int (*function)(const struct rb_heapprof_row *row, void *data), void *data)
{
    struct heapprof_snapshot *snapshot;

    if (!rb_heapprof_snapshot_object(object, &snapshot)) return -1;
    if (!snapshot) return 0;

    int result = rb_heapprof_snapshot_each(snapshot, function, data);
    rb_heapprof_snapshot_free(snapshot);
    return result;
}

/* ---- numbers ---- */

static void
count(struct rb_heapprof_stat *stat)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;

    RB_VM_LOCK_ENTER();
    if (rb_heapprof_on) {
        rb_heapprof_gc_hold_blocks();
        if (!rb_heapprof.reading) rb_heapprof_gc_settle_blocks(); /* what is alive has its site */
        *stat = (struct rb_heapprof_stat){
            .interval_bytes = rb_heapprof.options.interval_bytes,
            .malloc_interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.options),
            .malloc_all = rb_heapprof.options.malloc_all,
            .live_samples = tables->live.addresses.count + tables->blocks.live_count,
            .total_samples = rb_heapprof.total_samples + rb_heapprof.dropped_blocks +
                             rb_heapprof_gc_waiting_blocks(),
            .dropped = rb_heapprof.dropped + rb_heapprof.dropped_blocks,
            .folded = tables->sites.folded_count,
            .truncated = rb_heapprof.truncated,
            .sites = tables->sites.count,
            .stack_nodes = tables->stacks.count,
            .functions = tables->functions.count,
            .memory_used = rb_heapprof.mem.used_bytes,
            .memory_peak = rb_heapprof.mem.peak_bytes,
            .memory_budget = rb_heapprof.mem.budget_bytes,
        };
        rb_heapprof_gc_release_blocks();
    }
    RB_VM_LOCK_LEAVE();
}

void
rb_heapprof_stat_sized(struct rb_heapprof_stat *stat, size_t size)
{
    size_t known = KNOWN_BYTES(struct rb_heapprof_stat, interval_bytes, size);
    struct rb_heapprof_stat ours = {0};

    if (known == 0) return;
    count(&ours);
    ours.size = known;
    give(stat, size, &ours, known);
}

void
rb_heapprof_rss_sized(struct rb_heapprof_rss *rss, size_t size)
{
    size_t known = KNOWN_BYTES(struct rb_heapprof_rss, rss, size);
    struct rb_heapprof_rss ours;

    if (known == 0) return;
    rb_heapprof_rss_measure(&ours);
    ours.size = known;
    give(rss, size, &ours, known);
}
