/* copies.c - the tables at one moment, copied in steps.
 *
 *     tables                   copies
 *     strings    ------->      snapshot: strings; their index is made anew at the end
 *     functions  ------->      snapshot: functions, by number only
 *     stacks     ------->      snapshot: stacks, by number only; beside the program
 *     identities ------->      names of classes and callers
 *     sites      ------->      totals
 *     live       ------->      samples that are not gone; addresses, memsizes if wanted
 *     blocks     ------->      pieces, with their owners (pieces.c)
 *
 * Each table has a still (base/still.h), which is told before an entry changes. So the copies have
 * what was in all tables at the moment of begin.
 *
 *   I1  Totals, live samples and pieces are as they were at begin. So a site's dead are its totals
 *       minus its living.
 *   I2  The things that an entry names are in the copies, too. A number is given to another entry
 *       only after its entry is copied, and nothing is freed before all is copied.
 *   I3  holds of a stack's node in use is not copied, because it changes without being announced. In
 *       a free node it is the link of the chain of free ones, which is copied.
 *   I4  The text of strings only grows until a sweep, and all text is copied before a sweep.
 *
 * begin and add_up allocate (mem.c, the snapshot's account). Steps do not allocate. A still that is
 * told of a change does not allocate either.
 */
#include "profiler/copies.h"
#include "base/aside.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/alike.h"
#include "profiler/pieces.h"
#include "profiler/rows.h"

/* ---- one table ---- */

/* Defines the copying of a table whose entries are copied as they are. */
#define COPY_TABLE(name, to, from) \
    static void \
    name(struct heapprof_still *still, uint32_t first, uint32_t end) \
    { \
        struct heapprof_copies *copies = still->data; \
        memcpy(&copies->to[first], &copies->tables->from[first], \
               (end - first) * sizeof(*copies->to)); \
    }

COPY_TABLE(copy_strings, snapshot->strings.all, strings.all)
COPY_TABLE(copy_functions, snapshot->functions.all, functions.all)
COPY_TABLE(copy_identities, identities, identities.all)

static void
copy_stacks(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    struct heapprof_copies *copies = still->data;
    const struct heapprof_stack_node *from = copies->tables->stacks.nodes;
    struct heapprof_stack_node *to = copies->snapshot->stacks.nodes;

    for (uint32_t i = first; i < end; i++) {
        to[i].parent = from[i].parent;
        to[i].function = from[i].function;
        to[i].line = from[i].line;
        to[i].depth = from[i].depth;
        to[i].holds = from[i].function ? 0 : from[i].holds;
    }
}

static void
copy_sites(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    struct heapprof_copies *copies = still->data;
    const struct heapprof_sites *sites = &copies->tables->sites;
    size_t count = end - first;

    memcpy(&copies->sites[first], &sites->all[first], count * sizeof(*copies->sites));
    if (copies->deaths)
        memcpy(&copies->deaths[first], &sites->deaths[first], count * sizeof(*copies->deaths));
    for (; copies->peaks && first < end; first++)
        copies->peaks[first] = rb_heapprof_sites_peak(sites, first);
}

/* Bytes of text that one entry of the text's still stands for. */
#define TEXT_BYTES ((size_t)1024)

static void
copy_text(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    struct heapprof_copies *copies = still->data;
    struct heapprof_strings *to = &copies->snapshot->strings;
    size_t begin = first * TEXT_BYTES, bytes = end * TEXT_BYTES;

    if (bytes > to->bytes_used) bytes = to->bytes_used;
    memcpy(to->bytes + begin, copies->tables->strings.bytes + begin, bytes - begin);
}

/* ---- live samples ---- */

static bool
gone_p(const struct heapprof_copies *copies, uintptr_t address)
{
    return copies->asks.gone_p && copies->asks.gone_p(address, copies->asks.data);
}

/* While memsize is asked, other entries may change. ask_memsize is false meanwhile, so that
 * copying these does not ask again. */
static size_t
memsize(struct heapprof_copies *copies, uintptr_t address, const struct heapprof_sample *sample)
{
    if (!copies->ask_memsize) return sample->slot_bytes;
    copies->ask_memsize = false;
    size_t bytes = copies->asks.memsize(address, copies->asks.data);
    copies->ask_memsize = true;
    return bytes;
}

static void
copy_sample(struct heapprof_copies *copies, uint32_t entry)
{
    const struct heapprof_live_table *live = &copies->tables->live;
    uintptr_t address = rb_heapprof_address_table_address(&live->addresses, entry);

    if (entry == 0 || address == 0) return;
    bool gone = gone_p(copies, address);
    if (gone && !copies->deaths) return;
    copies->samples[entry] = *rb_heapprof_live_table_sample(live, entry);
    if (gone) {
        copies->samples[entry].weight = -copies->samples[entry].weight;
        copies->gone = true;
        return;
    }
    copies->snapshot->facts.live_samples++;
    if (copies->addresses) copies->addresses[entry] = address;
    if (copies->memsizes)
        copies->memsizes[entry] = memsize(copies, address, &copies->samples[entry]);
}

static void
copy_samples(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    for (uint32_t entry = first; entry < end; entry++) copy_sample(still->data, entry);
}

/* ---- blocks ---- */

static void
copy_blocks(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    struct heapprof_copies *copies = still->data;

    for (uint32_t entry = first; entry < end; entry++) {
        if (entry) rb_heapprof_pieces_copy(copies, entry);
    }
}

/* ---- all of them ---- */

typedef void copy_i(struct heapprof_still *still, uint32_t first, uint32_t end);

static copy_i *const copy_each[] = {
    [HEAPPROF_COPIED_STRINGS] = copy_strings, [HEAPPROF_COPIED_FUNCTIONS] = copy_functions,
    [HEAPPROF_COPIED_STACKS] = copy_stacks, [HEAPPROF_COPIED_IDENTITIES] = copy_identities,
    [HEAPPROF_COPIED_SITES] = copy_sites, [HEAPPROF_COPIED_SAMPLES] = copy_samples,
    [HEAPPROF_COPIED_BLOCKS] = copy_blocks, [HEAPPROF_COPIED_TEXT] = copy_text,
};

/* Returns the numbers of a table. Returns NULL for the text of strings, which has no numbers. */
static struct heapprof_numbers *
numbers_of(struct heapprof_tables *tables, enum heapprof_copied which)
{
    switch (which) {
      case HEAPPROF_COPIED_STRINGS: return &tables->strings.numbers;
      case HEAPPROF_COPIED_FUNCTIONS: return &tables->functions.numbers;
      case HEAPPROF_COPIED_STACKS: return &tables->stacks.numbers;
      case HEAPPROF_COPIED_IDENTITIES: return &tables->identities.numbers;
      case HEAPPROF_COPIED_SITES: return &tables->sites.numbers;
      case HEAPPROF_COPIED_SAMPLES: return &tables->live.addresses.numbers;
      case HEAPPROF_COPIED_BLOCKS: return &tables->blocks.addresses.numbers;
      default: return NULL;
    }
}

void
rb_heapprof_copies_follow(struct heapprof_copies *copies, struct heapprof_tables *tables)
{
    copies->followed = tables;
    for (int which = 0; which < HEAPPROF_COPIED_TEXT; which++) {
        numbers_of(tables, which)->still = &copies->stills[which];
    }
}

/* Ends the copying: nothing is left to copy, or the copies are freed. */
static void
leave(struct heapprof_copies *copies)
{
    for (int which = 0; copies->followed && which < HEAPPROF_COPIED_TEXT; which++) {
        numbers_of(copies->followed, which)->still = NULL;
    }
    copies->followed = NULL;
    copies->tables = NULL;
}

/* ---- begin ---- */

static uint32_t
end_of(const struct heapprof_tables *tables, enum heapprof_copied which)
{
    if (which == HEAPPROF_COPIED_TEXT) {
        return (uint32_t)((tables->strings.bytes_used + TEXT_BYTES - 1) / TEXT_BYTES);
    }
    uint32_t end = numbers_of((struct heapprof_tables *)tables, which)->end;
    return end > 1 ? end : 0; /* an empty table has no array */
}

static bool
begin_stills(struct heapprof_copies *copies)
{
    for (int which = 0; which < HEAPPROF_COPIED_TABLES; which++) {
        struct heapprof_still *still = &copies->stills[which];
        still->copy = copy_each[which];
        still->data = copies;
        still->shared = which == HEAPPROF_COPIED_STACKS;
        if (!rb_heapprof_still_begin(still, &copies->snapshot->mem,
                                     end_of(copies->tables, which))) {
            return false;
        }
    }
    return true;
}

/* Takes over at once all that numbers say besides. */
static void
take_numbers(struct heapprof_numbers *to, const struct heapprof_numbers *from)
{
    to->end = from->end;
    to->free_head = from->free_head;
    to->count = from->count;
}

/* Makes room for the entries of a table that the snapshot also has. */
#define ROOM(mem, array, capacity, count) \
    ((count) == 0 || HEAPPROF_MEM_GROW((mem), (array), (capacity), (count)))

static bool
room_in_snapshot(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables)
{
    struct heapprof_mem *mem = &snapshot->mem;

    take_numbers(&snapshot->strings.numbers, &tables->strings.numbers);
    take_numbers(&snapshot->functions.numbers, &tables->functions.numbers);
    take_numbers(&snapshot->stacks.numbers, &tables->stacks.numbers);
    snapshot->strings.bytes_used = tables->strings.bytes_used;
    return ROOM(mem, snapshot->strings.bytes, snapshot->strings.bytes_capacity,
                tables->strings.bytes_used) &&
           ROOM(mem, snapshot->strings.all, snapshot->strings.numbers.capacity,
                end_of(tables, HEAPPROF_COPIED_STRINGS)) &&
           ROOM(mem, snapshot->functions.all, snapshot->functions.numbers.capacity,
                end_of(tables, HEAPPROF_COPIED_FUNCTIONS)) &&
           ROOM(mem, snapshot->stacks.nodes, snapshot->stacks.numbers.capacity,
                end_of(tables, HEAPPROF_COPIED_STACKS));
}

static bool
room_in_copies(struct heapprof_copies *copies)
{
    const struct heapprof_tables *tables = copies->tables;
    struct heapprof_mem *mem = &copies->snapshot->mem;
    uint32_t samples_end = end_of(tables, HEAPPROF_COPIED_SAMPLES);

    copies->sites_end = tables->sites.numbers.end;
    copies->identities_end = tables->identities.numbers.end;
    copies->folded = tables->sites.folded;
    copies->folded_blocks = tables->sites.folded_blocks;
    copies->folded_deaths = tables->sites.folded_deaths;
    copies->folded_block_deaths = tables->sites.folded_block_deaths;
    copies->gone_peak = tables->sites.object_sums.gone;
    copies->gone_block_peak = tables->sites.block_sums.gone;
    copies->samples_end = tables->live.addresses.numbers.end;
    copies->piece_count = tables->blocks.numbers.end;
    return ROOM(mem, copies->sites, copies->sites_capacity,
                end_of(tables, HEAPPROF_COPIED_SITES)) &&
           (!tables->sites.lifetimes ||
            ROOM(mem, copies->deaths, copies->deaths_capacity,
                 end_of(tables, HEAPPROF_COPIED_SITES))) &&
           (tables->peak.bytes <= 0 ||
            ROOM(mem, copies->peaks, copies->peaks_capacity,
                 end_of(tables, HEAPPROF_COPIED_SITES))) &&
           ROOM(mem, copies->identities, copies->identities_capacity,
                end_of(tables, HEAPPROF_COPIED_IDENTITIES)) &&
           ROOM(mem, copies->samples, copies->samples_capacity, samples_end) &&
           (!copies->snapshot->facts.owners ||
            ROOM(mem, copies->addresses, copies->addresses_capacity, samples_end)) &&
           (!copies->asks.memsize ||
            ROOM(mem, copies->memsizes, copies->memsizes_capacity, samples_end)) &&
           (tables->blocks.live_count == 0 ||
            ROOM(mem, copies->pieces, copies->pieces_capacity, copies->piece_count));
}

struct heapprof_copies *
rb_heapprof_copies_begin(const struct heapprof_tables *tables, const struct heapprof_facts *facts,
                         const struct heapprof_asks *asks)
{
    struct heapprof_copies *copies = rb_heapprof_aside_zeroed(1, sizeof(*copies));

    if (!copies) return NULL;
    copies->snapshot = rb_heapprof_snapshot_new(facts);
    if (asks) copies->asks = *asks;
    copies->tables = tables;
    if (copies->snapshot) {
        copies->snapshot->facts.live_samples = 0;
        copies->snapshot->facts.folded = tables->sites.folded_count;
        copies->snapshot->facts.lifetimes = tables->sites.lifetimes;
        copies->snapshot->facts.peak_kept = tables->sites.object_sums.kept;
        copies->snapshot->facts.peak_bytes = tables->peak.bytes;
        copies->snapshot->facts.peak_gc = tables->peak.gc_count;
        copies->snapshot->facts.peak_ns = tables->peak.time_ns;
        if (room_in_snapshot(copies->snapshot, tables) && room_in_copies(copies) &&
            begin_stills(copies)) return copies;
    }
    rb_heapprof_copies_free(copies);
    return NULL;
}

/* ---- steps ---- */

static void
hold_blocks(const struct heapprof_copies *copies, void (*hold)(void *data))
{
    if (hold) hold(copies->asks.data);
}

/* Returns false if the still had no step left. */
static bool
step_on(struct heapprof_copies *copies, int which)
{
    struct heapprof_still *still = &copies->stills[which];

    if (!rb_heapprof_still_left_p(still)) return false;
    if (which == HEAPPROF_COPIED_BLOCKS) hold_blocks(copies, copies->asks.lock_blocks);
    rb_heapprof_still_step(still);
    if (which == HEAPPROF_COPIED_BLOCKS) hold_blocks(copies, copies->asks.unlock_blocks);
    return true;
}

void
rb_heapprof_copies_take_sites(struct heapprof_copies *copies)
{
    struct heapprof_still *still = &copies->stills[HEAPPROF_COPIED_SITES];

    while (copies->tables && rb_heapprof_still_left_p(still)) rb_heapprof_still_step(still);
}

void
rb_heapprof_copies_copy_beside(struct heapprof_copies *copies)
{
    rb_heapprof_mem_touch(&copies->snapshot->mem);
    while (rb_heapprof_still_step(&copies->stills[HEAPPROF_COPIED_STACKS])) continue;
}

void
rb_heapprof_copies_alone(struct heapprof_copies *copies)
{
    rb_heapprof_still_alone(&copies->stills[HEAPPROF_COPIED_STACKS]);
}

/* The lock is needed because other threads may be changing blocks. */
static void
leave_held(struct heapprof_copies *copies)
{
    bool followed = copies->followed;

    if (followed) hold_blocks(copies, copies->asks.lock_blocks);
    leave(copies);
    if (followed) hold_blocks(copies, copies->asks.unlock_blocks);
}

bool
rb_heapprof_copies_step(struct heapprof_copies *copies, bool ask)
{
    int which = 0;

    if (!copies->tables) return false;
    copies->ask_memsize = ask;
    while (which < HEAPPROF_COPIED_TABLES && !step_on(copies, which)) which++;
    copies->ask_memsize = false;
    if (which < HEAPPROF_COPIED_TABLES) return true;
    leave_held(copies);
    return false;
}

/* ---- the end ---- */

static void
release(struct heapprof_copies *copies, struct heapprof_mem *mem)
{
    for (int which = 0; which < HEAPPROF_COPIED_TABLES; which++) {
        rb_heapprof_still_free(&copies->stills[which], mem);
    }
    HEAPPROF_MEM_RELEASE(mem, copies->sites, copies->sites_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->deaths, copies->deaths_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->peaks, copies->peaks_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->identities, copies->identities_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->samples, copies->samples_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->addresses, copies->addresses_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->memsizes, copies->memsizes_capacity);
    HEAPPROF_MEM_RELEASE(mem, copies->pieces, copies->pieces_capacity);
}

void
rb_heapprof_copies_free(struct heapprof_copies *copies)
{
    leave_held(copies);
    if (copies->snapshot) release(copies, &copies->snapshot->mem);
    rb_heapprof_snapshot_free(copies->snapshot);
    rb_heapprof_aside_free(copies);
}

static bool
name_anonymous(struct heapprof_copies *copies)
{
    static const char text[] = "(anonymous)";

    copies->anonymous =
        rb_heapprof_strings_intern(&copies->snapshot->strings, text, sizeof(text) - 1);
    return copies->anonymous != UINT32_MAX;
}

struct heapprof_snapshot *
rb_heapprof_copies_add_up(struct heapprof_copies *copies)
{
    struct heapprof_snapshot *snapshot = copies->snapshot;

    if (!rb_heapprof_strings_enter_all(&snapshot->strings) || !name_anonymous(copies) ||
        !rb_heapprof_alike_merge(copies) || !rb_heapprof_pieces_sort(copies) ||
        !rb_heapprof_rows_add(copies)) {
        rb_heapprof_copies_free(copies);
        return NULL;
    }
    release(copies, &snapshot->mem);
    rb_heapprof_aside_free(copies);
    return snapshot;
}
