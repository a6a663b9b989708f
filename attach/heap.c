/* heap.c - copies the profiler's tables out of another process.
 *
 * Reading takes milliseconds, and the process goes on. It counts changes of its tables in two
 * words, which are odd while something changes (gc/book/sequence.c). Tables that were read between
 * two looks at equal, even words are of one moment. At the default interval the first try succeeds,
 * as a rule. After TRIES failures all threads are stopped.
 */
#include "attach/heap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/callers.h"
#include "attach/heap_check.h"
#include "attach/rename.h"
#include "attach/settle.h"
#include "attach/sweep.h"
#include "os/clock.h"
#include "profiler/copies.h"
#include "profiler/options.h"

enum {
    TRIES = 3,                  /* before threads are stopped */
    STOPS = 50,                 /* each lets go when it has come in the midst of a change */
    PAUSE_NS = 50000,
    STOP_LIMIT_NS = 200 * 1000 * 1000,
    STATE_BYTES = 16384, SEQUENCE_BYTES = 256
};

#define BYTES_MOST ((size_t)4 << 30) /* of a profile's tables */

/* ---- where everything is ---- */

struct heap_places {
    struct attach_global state, on, sequence;
    struct attach_field tables, options, mem, total_samples, dropped, dropped_blocks, truncated,
        doublings, start_ns;
    struct attach_field tables_word, blocks_word;
    struct attach_field gc_count;
    int64_t  contract;
    uint32_t state_bytes, sequence_bytes;
    uint32_t string_bytes, function_bytes, stack_bytes, identity_bytes, site_bytes, deaths_bytes,
        sum_bytes, address_bytes, sample_bytes, piece_bytes;
};

static const struct attach_want wants[] = {
#define WANT(kind, member, name) ATTACH_WANT_##kind(struct heap_places, member, name),
#define WANT_BYTES(member, name, bytes) ATTACH_WANT_BYTES(struct heap_places, member, name, bytes),
    ATTACH_WANT_CONTRACT(struct heap_places, contract, "heapprof", 1),
    ATTACH_WANT_GLOBAL(struct heap_places, state, "rb_heapprof", sizeof(struct heapprof_tables)),
    ATTACH_WANT_GLOBAL(struct heap_places, on, "rb_heapprof_on", 1),
    ATTACH_WANT_GLOBAL(struct heap_places, sequence, "rb_heapprof_sequence", 16),
    WANT(TYPE, state_bytes, "heapprof")
    WANT(TYPE, sequence_bytes, "heapprof_sequence")
    WANT_BYTES(tables, "heapprof.tables", sizeof(struct heapprof_tables))
    WANT_BYTES(options, "heapprof.options", sizeof(struct heapprof_options))
    WANT_BYTES(mem, "heapprof.mem", sizeof(struct heapprof_mem))
    WANT(NUMBER, total_samples, "heapprof.total_samples")
    WANT(NUMBER, dropped, "heapprof.dropped")
    WANT(NUMBER, dropped_blocks, "heapprof.dropped_blocks")
    WANT(NUMBER, truncated, "heapprof.truncated")
    WANT(NUMBER, doublings, "heapprof.doublings")
    WANT(NUMBER, start_ns, "heapprof.start_ns")
    WANT(NUMBER, tables_word, "heapprof_sequence.tables")
    WANT(NUMBER, blocks_word, "heapprof_sequence.blocks")
    WANT(NUMBER, gc_count, "rb_objspace_t.profile.count")
    WANT(TYPE, string_bytes, "heapprof_string")
    WANT(TYPE, function_bytes, "heapprof_function")
    WANT(TYPE, stack_bytes, "heapprof_stack_node")
    WANT(TYPE, identity_bytes, "heapprof_identity")
    WANT(TYPE, site_bytes, "heapprof_site")
    WANT(TYPE, deaths_bytes, "heapprof_deaths")
    WANT(TYPE, sum_bytes, "heapprof_sum")
    WANT(TYPE, address_bytes, "heapprof_address_entry")
    WANT(TYPE, sample_bytes, "heapprof_sample")
    WANT(TYPE, piece_bytes, "heapprof_piece")
#undef WANT
#undef WANT_BYTES
};

/* True if the target's structures are the same as ours: the code here reads them without
 * translation. */
static bool
same_version_p(const struct heap_places *places)
{
    return places->state_bytes <= STATE_BYTES && places->sequence_bytes <= SEQUENCE_BYTES &&
           places->tables.size == sizeof(struct heapprof_tables) &&
           places->options.size == sizeof(struct heapprof_options) &&
           places->mem.size == sizeof(struct heapprof_mem) &&
           places->string_bytes == sizeof(struct heapprof_string) &&
           places->function_bytes == sizeof(struct heapprof_function) &&
           places->stack_bytes == sizeof(struct heapprof_stack_node) &&
           places->identity_bytes == sizeof(struct heapprof_identity) &&
           places->site_bytes == sizeof(struct heapprof_site) &&
           places->deaths_bytes == sizeof(struct heapprof_deaths) &&
           places->sum_bytes == sizeof(struct heapprof_sum) &&
           places->address_bytes == sizeof(struct heapprof_address_entry) &&
           places->sample_bytes == sizeof(struct heapprof_sample) &&
           places->piece_bytes == sizeof(struct heapprof_piece);
}

/* ---- the tables ---- */

struct heap_reading {
    struct attach_vm *vm;
    struct heap_places places;
    struct heapprof_mem mem;    /* of the copies */
    unsigned char state[STATE_BYTES], sequence[SEQUENCE_BYTES];
    struct heapprof_tables from;   /* as it is there: its arrays are in the target */
    struct heapprof_tables tables; /* the same with arrays of ours */
    struct heapprof_facts facts;
    struct attach_settling settling;
    struct attach_renames renames;
    struct attach_sweep sweep;
};

static uint64_t
word_of(const struct heap_reading *reading, const struct attach_field *field)
{
    return attach_field_get(field, reading->sequence);
}

/* Reads the sequence words. Returns false if they cannot be read. */
static bool
read_sequence(struct heap_reading *reading)
{
    return attach_target_read(reading->vm->target, reading->places.sequence.address,
                              reading->sequence, reading->places.sequence_bytes);
}

static bool
odd_p(const struct heap_reading *reading)
{
    return (word_of(reading, &reading->places.tables_word) |
            word_of(reading, &reading->places.blocks_word)) &
           1;
}

/* Copies what the target has at from into an array of ours. */
static bool
take_array(struct heap_reading *reading, const void *from, void **array, size_t *capacity,
           size_t count, size_t bytes_each)
{
    if (count <= 1) return true; /* [0] is not used */
    return rb_heapprof_mem_grow(&reading->mem, array, capacity, count, bytes_each) &&
           attach_target_read(reading->vm->target, (uint64_t)(uintptr_t)from, *array,
                              count * bytes_each);
}

#define TAKE(reading, array, capacity, count) \
    take_array((reading), (reading)->from.array, (void **)&(reading)->tables.array, \
               &(reading)->tables.capacity, (count), sizeof(*(reading)->tables.array))

/* The same for a table with numbers. They are bounded by the largest array. */
#define TAKE_NUMBERED(reading, array, numbers) \
    ((reading)->from.numbers.end <= HEAPPROF_NUMBERS_MOST && \
     take_numbers(&(reading)->tables.numbers, &(reading)->from.numbers) && \
     TAKE((reading), array, numbers.capacity, (reading)->from.numbers.end))

static bool
take_numbers(struct heapprof_numbers *to, const struct heapprof_numbers *from)
{
    to->end = from->end;
    to->count = from->count;
    to->free_head = from->free_head;
    return true;
}

/* Another byte than 0 or 1 must not be looked at as a bool. */
static bool
true_p(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, sizeof(byte));
    return byte != 0;
}

static void
take_sums(struct heap_reading *reading)
{
    struct heapprof_tables *tables = &reading->tables;
    const struct heapprof_tables *from = &reading->from;

    tables->strings.bytes_used = from->strings.bytes_used;
    tables->sites.folded = from->sites.folded;
    tables->sites.folded_blocks = from->sites.folded_blocks;
    tables->sites.folded_count = from->sites.folded_count;
    tables->sites.lifetimes = true_p(&from->sites.lifetimes);
    tables->sites.folded_deaths = from->sites.folded_deaths;
    tables->sites.folded_block_deaths = from->sites.folded_block_deaths;
    tables->sites.object_sums.kept = true_p(&from->sites.object_sums.kept);
    tables->sites.object_sums.gone = from->sites.object_sums.gone;
    tables->sites.block_sums.gone = from->sites.block_sums.gone;
    tables->peak = from->peak;
    tables->blocks.retired_head = from->blocks.retired_head;
    tables->blocks.live_count = from->blocks.live_count;
}

static size_t
least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* What sites have besides their totals. The peak has room for the sites that there were then. */
static bool
take_past(struct heap_reading *reading)
{
    const struct heapprof_sites *from = &reading->from.sites;
    size_t end = from->numbers.end;

    return (!reading->tables.sites.lifetimes ||
            TAKE(reading, sites.deaths, sites.deaths_capacity, end)) &&
           TAKE(reading, sites.object_sums.peak, sites.object_sums.peak_capacity,
                least(end, from->object_sums.peak_capacity)) &&
           TAKE(reading, sites.block_sums.peak, sites.block_sums.peak_capacity,
                least(end, from->block_sums.peak_capacity));
}

/* Copies into the arrays of the previous copy, if there is one. Pages that exist already take a
 * quarter of the time. That counts while threads are stopped. */
static bool
take_arrays(struct heap_reading *reading)
{
    size_t objects = reading->from.live.addresses.numbers.end,
           blocks = reading->from.blocks.addresses.numbers.end;

    take_sums(reading);
    return reading->from.strings.bytes_used <= UINT32_MAX &&
           TAKE(reading, strings.bytes, strings.bytes_capacity, reading->from.strings.bytes_used) &&
           TAKE_NUMBERED(reading, strings.all, strings.numbers) &&
           TAKE_NUMBERED(reading, functions.all, functions.numbers) &&
           TAKE_NUMBERED(reading, stacks.nodes, stacks.numbers) &&
           TAKE_NUMBERED(reading, identities.all, identities.numbers) &&
           TAKE_NUMBERED(reading, identities.addresses.entries, identities.addresses.numbers) &&
           TAKE(reading, identities.ids, identities.ids_capacity,
                reading->from.identities.addresses.numbers.end) &&
           TAKE_NUMBERED(reading, sites.all, sites.numbers) && take_past(reading) &&
           TAKE_NUMBERED(reading, live.addresses.entries, live.addresses.numbers) &&
           TAKE(reading, live.samples, live.samples_capacity, objects) &&
           TAKE_NUMBERED(reading, blocks.addresses.entries, blocks.addresses.numbers) &&
           TAKE(reading, blocks.pieces_of, blocks.pieces_of_capacity, blocks) &&
           TAKE_NUMBERED(reading, blocks.pieces, blocks.numbers);
}

static void
release(struct heap_reading *reading)
{
    struct heapprof_tables *tables = &reading->tables;
    struct heapprof_mem *mem = &reading->mem;

    HEAPPROF_MEM_RELEASE(mem, tables->strings.bytes, tables->strings.bytes_capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->strings.all, tables->strings.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->functions.all, tables->functions.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->stacks.nodes, tables->stacks.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->identities.all, tables->identities.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->identities.addresses.entries,
                         tables->identities.addresses.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->identities.ids, tables->identities.ids_capacity);
    rb_heapprof_index_release(&tables->strings.index, mem);
    HEAPPROF_MEM_RELEASE(mem, tables->sites.all, tables->sites.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->sites.deaths, tables->sites.deaths_capacity);
    rb_heapprof_sums_release(&tables->sites.object_sums, mem);
    rb_heapprof_sums_release(&tables->sites.block_sums, mem);
    HEAPPROF_MEM_RELEASE(mem, tables->live.addresses.entries,
                         tables->live.addresses.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->live.samples, tables->live.samples_capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->blocks.addresses.entries,
                         tables->blocks.addresses.numbers.capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->blocks.pieces_of, tables->blocks.pieces_of_capacity);
    HEAPPROF_MEM_RELEASE(mem, tables->blocks.pieces, tables->blocks.numbers.capacity);
}

static uint64_t
number_of(const struct heap_reading *reading, const struct attach_field *field)
{
    return attach_field_get(field, reading->state);
}

/* The facts that vm/run/take.c puts into a snapshot. */
static void
take_facts(struct heap_reading *reading)
{
    const struct heap_places *places = &reading->places;
    struct heapprof_options options;
    struct heapprof_mem mem;

    memcpy(&options, reading->state + places->options.offset, sizeof(options));
    memcpy(&mem, reading->state + places->mem.offset, sizeof(mem));
    uint64_t dropped_blocks = number_of(reading, &places->dropped_blocks);
    reading->facts = (struct heapprof_facts){
        .interval_bytes = options.interval_bytes,
        .malloc_interval_bytes = rb_heapprof_options_malloc_interval(&options),
        .total_samples = number_of(reading, &places->total_samples) + dropped_blocks,
        .dropped = number_of(reading, &places->dropped) + dropped_blocks,
        .truncated = number_of(reading, &places->truncated),
        .doublings = number_of(reading, &places->doublings),
        .budget_bytes = mem.budget_bytes, .used_bytes = mem.used_bytes,
        .start_ns = (int64_t)number_of(reading, &places->start_ns),
        .time_ns = rb_heapprof_clock_ns(CLOCK_REALTIME),
    };
}

/* ---- what is dead though it has not been swept ---- */

static bool
gone_p(void *data, uint64_t address)
{
    struct heap_reading *reading = data;

    return attach_sweep_dead_p(&reading->sweep, address);
}

/* The address of a dead object in the copy. Its entry is not free, and no live object has this
 * address. */
#define GONE 1

static bool
noted_gone_p(uintptr_t address, void *unused)
{
    (void)unused;
    return address == GONE;
}

static void
note_gone(struct heap_reading *reading)
{
    struct heapprof_address_table *addresses = &reading->tables.live.addresses;

    if (!reading->sweep.sweeping) return;
    for (uint32_t entry = 1; entry < addresses->numbers.end; entry++) {
        uint64_t address = rb_heapprof_address_table_address(addresses, entry);
        if (address && gone_p(reading, address)) addresses->entries[entry].address = GONE;
    }
}

/* For objects, and for the classes and code of functions. */
static bool
take_collector(struct heap_reading *reading)
{
    struct attach_vm *vm = reading->vm;
    struct attach_sweep *sweep = &reading->sweep;

    return attach_vm_get(vm, attach_vm_objspace(vm), &reading->places.gc_count,
                         &reading->facts.gc_count) &&
           attach_sweep_begin(sweep, vm, &reading->mem) &&
           attach_sweep_look(sweep, vm, &reading->mem, &reading->tables.live.addresses) &&
           attach_sweep_look(sweep, vm, &reading->mem, &reading->tables.identities.addresses);
}

/* ---- one copy ---- */

enum result { WHOLE, CHANGED, FAILED };

/* Copies everything. Returns WHOLE if the copy is of one moment. In the midst of a change it cannot
 * be, but copying still makes room for the next try. */
static enum result
copy_once(struct heap_reading *reading, bool anyhow)
{
    struct attach_target *target = reading->vm->target;
    unsigned char before[sizeof(reading->sequence)];

    if (!read_sequence(reading)) return FAILED;
    bool changing = odd_p(reading);
    if (changing && !anyhow) return CHANGED;
    memcpy(before, reading->sequence, sizeof(before));
    if (!attach_target_read(target, reading->places.state.address, reading->state,
                            reading->places.state_bytes)) {
        return FAILED;
    }
    memcpy(&reading->from, reading->state + reading->places.tables.offset, sizeof(reading->from));
    take_facts(reading);
    bool taken = take_arrays(reading) && take_collector(reading) &&
                 attach_settle_look(&reading->settling, reading->vm, &reading->mem) &&
                 attach_renames_look(&reading->renames, reading->vm, &reading->mem,
                                     &reading->tables, gone_p, reading);
    if (!read_sequence(reading)) return FAILED;
    if (changing || memcmp(before, reading->sequence, reading->places.sequence_bytes))
        return CHANGED;
    return taken ? WHOLE : FAILED;
}

/* ---- as often as it takes ---- */

static void
pause_a_little(void)
{
    struct timespec time = {0, PAUSE_NS};

    nanosleep(&time, NULL);
}

static enum result
copy_stopped(struct heap_reading *reading, struct attach_stop *stop,
             struct attach_heap_counts *counts)
{
    enum result result = CHANGED;

    for (int i = 0; i < STOPS && result == CHANGED; i++) {
        if (i > 0) pause_a_little();
        if (attach_stop_all(stop, reading->vm->target, STOP_LIMIT_NS) != ATTACH_STOPPED) break;
        int64_t began = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        result = copy_once(reading, false);
        attach_stop_resume(stop);
        uint64_t took = (uint64_t)(rb_heapprof_clock_ns(CLOCK_MONOTONIC) - began);
        counts->stops++;
        if (took > counts->stopped_ns) counts->stopped_ns = took;
    }
    return result;
}

static enum result
copy(struct heap_reading *reading, struct attach_stop *stop, struct attach_heap_counts *counts)
{
    enum result result = CHANGED;

    for (int i = 0; i < TRIES && result == CHANGED; i++) {
        if (i > 0) pause_a_little();
        result = copy_once(reading, i == TRIES - 1);
        counts->tries++;
    }
    if (result == CHANGED && stop) result = copy_stopped(reading, stop, counts);
    return result;
}

/* ---- all of it ---- */

static bool
fill(struct heap_reading *reading, char *error)
{
    struct attach_target *target = reading->vm->target;
    struct heap_places *places = &reading->places;
    uint64_t on;

    if (!attach_layout_fill(reading->vm->layout, wants, sizeof(wants) / sizeof(*wants), places,
                            error))
        return false;
    if (!attach_settle_fill(&reading->settling, reading->vm->layout, error)) return false;
    if (!attach_sweep_fill(&reading->sweep, reading->vm->layout, error)) return false;
    if (!same_version_p(places) || !attach_sweep_good_p(&reading->sweep)) {
        attach_target_say(target, error, "its profiler is of another version than this program");
        return false;
    }
    if (!attach_global_read(target, &places->on, &on)) {
        attach_target_say(target, error, "its state cannot be read");
        return false;
    }
    if (!on && target->runs)
        attach_target_say(target, error,
                          "its heap is not profiled: `heapprof start %d` starts that",
                          (int)target->pid);
    else if (!on) attach_target_say(target, error, "its heap was not profiled");
    return on;
}

static void
say_failure(struct heap_reading *reading, enum result result, char *error)
{
    attach_target_say(reading->vm->target, error,
                      result == CHANGED ? "its tables changed each time they were read"
                                        : "its tables cannot be read");
}

/* Does what the process does before it copies its tables for a snapshot. Returns false on failure;
 * error says why. */
static bool
settle(struct heap_reading *reading, char *error)
{
    struct heapprof_tables *tables = &reading->tables;

    note_gone(reading);
    const char *wrong = attach_heap_check(tables);
    if (wrong) {
        attach_target_say(reading->vm->target, error, "%s are damaged", wrong);
        return false;
    }
    wrong = rb_heapprof_strings_enter_all(&tables->strings)
          ? attach_settle_enter(&reading->settling, tables, &reading->facts) : "no memory";
    if (wrong) {
        attach_target_say(reading->vm->target, error, "%s", wrong);
        return false;
    }
    if (!attach_renames_enter(&reading->renames, tables)) {
        attach_target_say(reading->vm->target, error, "no memory");
        return false;
    }
    attach_callers_name_all(tables, reading->vm->target, &reading->mem);
    return true;
}

static struct heapprof_snapshot *
add_up(struct heap_reading *reading, char *error)
{
    struct heapprof_asks asks = {.gone_p = noted_gone_p};
    struct heapprof_copies *copies;

    if (!settle(reading, error)) return NULL;
    copies = rb_heapprof_copies_begin(&reading->tables, &reading->facts, &asks);
    while (copies && rb_heapprof_copies_step(copies, false)) continue;
    struct heapprof_snapshot *snapshot = copies ? rb_heapprof_copies_add_up(copies) : NULL;
    if (!snapshot) attach_target_say(reading->vm->target, error, "no memory");
    return snapshot;
}

struct heapprof_snapshot *
attach_heap_read(struct attach_vm *vm, struct attach_stop *stop, struct attach_heap_counts *counts,
                 char error[ATTACH_TARGET_ERROR_MAX])
{
    struct heap_reading *reading = calloc(1, sizeof(*reading));
    struct heapprof_snapshot *snapshot = NULL;

    if (!reading) {
        attach_target_say(vm->target, error, "no memory");
        return NULL;
    }
    reading->vm = vm;
    rb_heapprof_mem_init(&reading->mem, BYTES_MOST);
    rb_heapprof_tables_init(&reading->tables, &reading->mem, NULL);
    if (fill(reading, error)) {
        enum result result = copy(reading, stop, counts);
        if (result == WHOLE) snapshot = add_up(reading, error);
        else say_failure(reading, result, error);
    }
    if (!snapshot) attach_target_blame(vm->target, error);
    release(reading);
    attach_settle_free(&reading->settling, &reading->mem);
    attach_renames_free(&reading->renames, &reading->mem);
    attach_sweep_free(&reading->sweep, &reading->mem);
    free(reading);
    return snapshot;
}

bool
attach_heap_alive(struct attach_vm *vm, uint64_t *samples)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct heap_reading *reading = calloc(1, sizeof(*reading));
    struct heapprof_tables tables;

    if (!reading) return false;
    reading->vm = vm;
    bool filled = fill(reading, error);
    uint64_t at = reading->places.state.address + reading->places.tables.offset;
    free(reading);
    if (!filled || !attach_target_read(vm->target, at, &tables, sizeof(tables))) return false;
    *samples = (uint64_t)tables.live.addresses.numbers.count + tables.blocks.live_count;
    return true;
}

bool
attach_heap_profiled_p(struct attach_vm *vm)
{
    struct attach_global on;
    uint64_t value;

    return attach_layout_global(vm->layout, "rb_heapprof_on", &on) &&
           attach_global_read(vm->target, &on, &value) && value;
}

void
attach_heap_build(struct attach_vm *vm, char build[ATTACH_HEAP_BUILD_MAX])
{
    struct attach_global global;
    uint64_t text;

    build[0] = 0;
    if (!attach_layout_global(vm->layout, "rb_heapprof_description", &global) ||
        !attach_global_read(vm->target, &global, &text) ||
        !attach_target_read_string(vm->target, text, build, ATTACH_HEAP_BUILD_MAX)) build[0] = 0;
}
