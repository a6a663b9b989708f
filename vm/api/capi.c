/* capi.c - the C API (include/ruby/heapprof.h): structs of the caller, and reading a snapshot.
 * run.c starts and stops, take.c takes snapshots; api.c is the same for Ruby.
 *
 * Nothing here makes a Ruby object, raises, or runs Ruby code.
 */
#include "ruby/ruby.h"
#include "ruby/heapprof.h"
#include "gc/book/state.h"
#include "vm/graph/graph.h"
#include "vm/labels/sets.h"
#include "vm/run/periodic.h"
#include "profiler/out.h"
#include "vm/run/rss.h"
#include "vm/run/run.h"
#include "vm/run/take.h"
#include "vm_core.h"
#include "vm_sync.h"
#include <errno.h>
#include <limits.h>
#include <math.h>

/* ---- structs of the caller's, which another version of the header may have sized ---- */

/* No struct of ours will be longer, so a larger size is a mistake. */
#define SIZE_LIMIT 4096

/* How many bytes of the caller's struct both sides know. 0 if its size cannot be right. */
static size_t
known_bytes(size_t size, size_t least, size_t ours)
{
    if (size < least || size > SIZE_LIMIT) return 0;
    return size < ours ? size : ours;
}

#define LEAST_BYTES(type, first) (offsetof(type, first) + sizeof(((type *)0)->first))
#define KNOWN_BYTES(type, first, size) known_bytes((size), LEAST_BYTES(type, first), sizeof(type))

/* Fills a caller's struct. The fields that we do not know become 0. */
static void
give(void *theirs, size_t size, const void *ours, size_t known)
{
    memcpy(theirs, ours, known);
    memset((char *)theirs + known, 0, size - known);
}

/* Whether all fields that we do not know are 0. */
static bool
rest_is_zero_p(const void *theirs, size_t known, size_t size)
{
    for (size_t i = known; i < size; i++) {
        if (((const char *)theirs)[i]) return false;
    }
    return true;
}

/* ---- settings ---- */

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
        .every_ms = options.every_ms,
        .signal = (int)options.signal,
        .keep = options.keep,
        .owners = options.owners,
        .rss = options.rss,
        .peak = options.peak,
        .lifetimes = options.lifetimes,
    };
}

void
rb_heapprof_config_init_sized(struct rb_heapprof_config *config, size_t size)
{
    struct rb_heapprof_config defaults = default_config(size);
    size_t known = KNOWN_BYTES(struct rb_heapprof_config, interval_bytes, size);

    if (known) give(config, size, &defaults, known);
}

/* The caller's settings; fields that its struct lacks have their defaults. Returns false if the
 * size cannot be right, or a field is set that we do not know. */
static bool
complete_config(struct rb_heapprof_config *config, const struct rb_heapprof_config *theirs)
{
    size_t known = KNOWN_BYTES(struct rb_heapprof_config, interval_bytes, theirs->size);

    if (known == 0 || !rest_is_zero_p(theirs, known, theirs->size)) return false;
    *config = default_config(sizeof(*config));
    memcpy(config, theirs, known);
    return true;
}

/* Returns false if there is no such signal, the template is bad, or out is set without every_ms
 * or signal. */
static bool
set_files(const struct rb_heapprof_config *config, struct heapprof_options *options)
{
    options->every_ms = config->every_ms;
    options->signal = (uint32_t)config->signal;
    options->keep = config->keep;
    options->owners = config->owners != 0;
    options->rss = config->rss != 0;
    options->peak = config->peak != 0;
    options->lifetimes = config->lifetimes != 0;
    if (config->signal && !rb_heapprof_signal_name(config->signal)[0]) return false;
    if (config->out) {
        size_t length = strnlen(config->out, sizeof(options->out));
        if (length == 0 || length == sizeof(options->out) ||
            !rb_heapprof_options_periodic_p(options) ||
            !rb_heapprof_out_template_p(config->out, length))
            return false;
        memcpy(options->out, config->out, length + 1);
        options->named = true;
    }
    rb_heapprof_options_name_files(options);
    return true;
}

/* Returns false if a value is out of range. */
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
    if (!set_files(config, options)) return false;
    if (rb_heapprof_options_out_of_range(options, &expected)) return false;
    return !options->malloc_all || !rb_heapprof_gc_malloc_all_refusal();
}

enum rb_heapprof_started
rb_heapprof_start(const struct rb_heapprof_config *theirs)
{
    struct heapprof_options options;
    struct rb_heapprof_config config;
    char directory[PATH_MAX], message[256];

    rb_heapprof_options_default(&options);
    if (theirs && !(complete_config(&config, theirs) && options_of(&config, &options))) {
        return RB_HEAPPROF_BAD_CONFIG;
    }
    if (rb_heapprof_on) return RB_HEAPPROF_RUNNING;
    if (rb_heapprof_periodic_refusal(&options, message, sizeof(message)))
        return RB_HEAPPROF_BAD_CONFIG;
    errno = rb_heapprof_periodic_place(&options, directory, sizeof(directory));
    if (errno) return RB_HEAPPROF_BAD_OUT;
    if (!rb_heapprof_start_with(&options)) return RB_HEAPPROF_RUNNING;
    if (rb_heapprof_periodic_start(&options, NULL, directory)) return RB_HEAPPROF_STARTED;
    rb_heapprof_stop();
    return RB_HEAPPROF_BAD_CONFIG;
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

static enum rb_heapprof_kind
kind_of(const struct heapprof_row *row)
{
    switch (row->kind) {
      case HEAPPROF_ROW_BLOCKS: return RB_HEAPPROF_KIND_MALLOC;
      case HEAPPROF_ROW_RUNG:   return RB_HEAPPROF_KIND_RSS;
      default:                  return RB_HEAPPROF_KIND_OBJECTS;
    }
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
        .class_name = text(reader, rb_heapprof_row_class(row)),
        .caller = row->kind == HEAPPROF_ROW_BLOCKS ? text(reader, row->subject) : NULL,
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
        .kind = kind_of(row),
        .death_age = (int64_t)row->death_age - 1,
        .temp_objects = whole(row->temp_objects),
        .temp_space = whole(row->temp_bytes),
        .peak_objects = whole(row->peak_objects),
        .peak_space = whole(row->peak_bytes),
    };
    return true;
}

int
rb_heapprof_snapshot_each(const rb_heapprof_snapshot_t *snapshot,
                          int (*function)(const struct rb_heapprof_row *row, void *data),
                          void *data)
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
                             int (*function)(const struct rb_heapprof_row *row, void *data),
                             void *data)
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
count_dead(struct rb_heapprof_stat *stat)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;
    struct heapprof_dead_code_share share = rb_heapprof_dead_code_share(tables);

    stat->dead_functions = share.functions;
    stat->dead_stack_nodes = share.stack_nodes;
    stat->dead_sites = share.sites;
    stat->merged_sites = tables->merged_sites;
    stat->nameless_sites = tables->nameless_sites;
}

/* dead: count what belongs to dead code, too. */
static void
count(struct rb_heapprof_stat *stat, bool dead)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;

    RB_VM_LOCK_ENTER();
    if (rb_heapprof_on) {
        rb_heapprof_gc_lock_blocks();
        if (!rb_heapprof.work.reading)
            rb_heapprof_gc_settle_blocks(); /* blocks in use get their site */
        const struct heapprof_account account = rb_heapprof_gc_account();
        *stat = (struct rb_heapprof_stat){
            .interval_bytes = rb_heapprof.run.options.interval_bytes,
            .malloc_interval_bytes = rb_heapprof_options_malloc_interval(&rb_heapprof.run.options),
            .malloc_all = rb_heapprof.run.options.malloc_all,
            .live_samples = tables->live.addresses.numbers.count + tables->blocks.live_count,
            .total_samples = account.total_samples + rb_heapprof_gc_waiting_blocks(),
            .dropped = account.dropped,
            .folded = tables->sites.folded_count,
            .truncated = account.truncated,
            .sites = tables->sites.numbers.count,
            .stack_nodes = tables->stacks.numbers.count,
            .functions = tables->functions.numbers.count,
            .memory_used = rb_heapprof.mem.used_bytes,
            .memory_peak = rb_heapprof.mem.peak_bytes,
            .memory_budget = rb_heapprof.mem.budget_bytes,
            .doublings = account.doublings,
            .other_labels = rb_heapprof_label_others(),
            .left_out_labels = rb_heapprof_label_refused(),
        };
        if (dead) count_dead(stat);
        rb_heapprof_gc_unlock_blocks();
    }
    RB_VM_LOCK_LEAVE();
}

void
rb_heapprof_stat_sized(struct rb_heapprof_stat *stat, size_t size)
{
    size_t known = KNOWN_BYTES(struct rb_heapprof_stat, interval_bytes, size);
    struct rb_heapprof_stat ours = {0};

    if (known == 0) return;
    count(&ours, known > offsetof(struct rb_heapprof_stat, dead_functions));
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

/* ---- the graph of all objects ---- */

int64_t
rb_heapgraph_dump(const char *path, const struct rb_heapgraph_config *theirs)
{
    struct rb_heapgraph_config config = {0};

    if (theirs) {
        size_t known = KNOWN_BYTES(struct rb_heapgraph_config, values_bytes, theirs->size);
        if (known == 0 || !rest_is_zero_p(theirs, known, theirs->size)) {
            errno = EINVAL;
            return -1;
        }
        memcpy(&config, theirs, known);
    }
    struct heapprof_graph_dump dump = {
        .values_bytes = config.values_bytes,
        .gc = config.gc,
        .fork = !config.in_place,
        .uninterrupted = true,
    };
    if (config.gc) rb_gc_start();
    errno = rb_heapprof_graph_dump_file(&dump, path);
    return errno ? -1 : (int64_t)dump.bytes;
}
