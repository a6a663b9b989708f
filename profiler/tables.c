/* tables.c - the tables of a profile as one.
 *
 *   I1  The site of a live sample is in use, and is a site of objects. The site of a piece is in
 *       use, and is a site of blocks, until the piece is taken.
 *   I2  live_samples of all sites add up to the number of live samples and pieces.
 *   I3  The sums of a site, if they are kept, are those of its live samples.
 *   I4  Frames of stacks name functions. Functions, sites and paths of C functions name identities. All
 *       of these are in use. Names are strings in use, or not known yet.
 *
 * A sample enters the live table and its site's totals one after the other, and leaves them so.
 * Between the two, I2 does not hold.
 *
 * The caller serialises all calls. This file allocates nothing.
 */
#include "profiler/tables.h"

#include <string.h>

#include "base/check.h"

void
rb_heapprof_tables_init(struct heapprof_tables *tables, struct heapprof_mem *mem,
                        uint8_t *block_filter)
{
    rb_heapprof_strings_init(&tables->strings, mem);
    rb_heapprof_identities_init(&tables->identities, mem);
    rb_heapprof_functions_init(&tables->functions, mem);
    rb_heapprof_stacks_init(&tables->stacks, mem);
    rb_heapprof_stacks_init(&tables->c_paths, mem);
    rb_heapprof_sites_init(&tables->sites, mem, &tables->stacks);
    rb_heapprof_live_table_init(&tables->live, mem);
    rb_heapprof_blocks_init(&tables->blocks, mem, block_filter);
    tables->blocks.sums = &tables->sites.block_sums;
    rb_heapprof_reported_init(&tables->reported, mem);
    rb_heapprof_callers_init(&tables->callers, mem);
    rb_heapprof_mismatches_init(&tables->mismatches, mem, &tables->stacks);
    rb_heapprof_dead_objects_init(&tables->dead_objects, mem, &tables->stacks);
    rb_heapprof_uses_init(&tables->uses, mem, &tables->stacks);
    tables->label_strings = NULL;
    tables->label_strings_capacity = 0;
    tables->peak = (struct heapprof_peak){0};
    tables->merged_sites = tables->nameless_sites = 0;
}

void
rb_heapprof_tables_keep(struct heapprof_tables *tables, bool peak, bool lifetimes)
{
    tables->sites.object_sums.kept = tables->sites.block_sums.kept = peak;
    tables->sites.lifetimes = lifetimes;
    tables->sites.past = peak || lifetimes;
}

void
rb_heapprof_tables_keep_peak(struct heapprof_tables *tables, double bytes, uint64_t gc_count,
                             int64_t time_ns)
{
    rb_heapprof_sites_keep_peak(&tables->sites);
    tables->peak = (struct heapprof_peak){ bytes, gc_count, time_ns };
}

void
rb_heapprof_tables_reserve(struct heapprof_tables *tables)
{
    enum { a_little = 64 };

    rb_heapprof_live_table_reserve(&tables->live, a_little);
    rb_heapprof_blocks_reserve(&tables->blocks, a_little);
}

void
rb_heapprof_tables_free(struct heapprof_tables *tables)
{
    rb_heapprof_uses_free(&tables->uses);
    rb_heapprof_dead_objects_free(&tables->dead_objects);
    rb_heapprof_mismatches_free(&tables->mismatches);
    rb_heapprof_callers_free(&tables->callers);
    rb_heapprof_reported_free(&tables->reported);
    rb_heapprof_blocks_free(&tables->blocks);
    rb_heapprof_live_table_free(&tables->live);
    rb_heapprof_sites_free(&tables->sites);
    rb_heapprof_stacks_free(&tables->c_paths);
    rb_heapprof_stacks_free(&tables->stacks);
    rb_heapprof_functions_free(&tables->functions);
    rb_heapprof_identities_free(&tables->identities);
    HEAPPROF_MEM_RELEASE(tables->strings.mem, tables->label_strings,
                         tables->label_strings_capacity);
    rb_heapprof_strings_free(&tables->strings);
}

uint32_t
rb_heapprof_tables_named(struct heapprof_tables *tables, uint32_t *page_head, uintptr_t key,
                         const char *name, size_t length)
{
    uint32_t id = rb_heapprof_identities_find(&tables->identities, key);
    if (id) return id;

    uint32_t string = rb_heapprof_strings_intern(&tables->strings, name, length);
    if (string == UINT32_MAX) return 0;
    id = rb_heapprof_identities_add(&tables->identities, page_head, key);
    if (id) rb_heapprof_identities_change(&tables->identities, id)->name = string;
    return id;
}

uint32_t
rb_heapprof_tables_label(struct heapprof_tables *tables, uint32_t set, const char *text,
                         size_t length)
{
    if (set == 0) return 0;
    if (!HEAPPROF_MEM_GROW(tables->strings.mem, tables->label_strings,
                           tables->label_strings_capacity, (size_t)set + 1))
        return UINT32_MAX;
    uint32_t string = rb_heapprof_strings_intern(&tables->strings, text, length);
    if (string != UINT32_MAX) tables->label_strings[set] = string;
    return string;
}

/* ---- merging ---- */

void
rb_heapprof_tables_follow_sites(struct heapprof_tables *tables)
{
    const struct heapprof_live_table *live = &tables->live;

    for (uint32_t entry = 1; entry < live->addresses.numbers.end; entry++) {
        struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
        if (!rb_heapprof_address_table_address(&live->addresses, entry)) continue;
        sample->site = rb_heapprof_sites_same(&tables->sites, sample->site);
    }
    for (uint32_t number = 1; number < tables->blocks.numbers.end; number++) {
        struct heapprof_piece *piece = &tables->blocks.pieces[number];
        if (piece->site == 0 || piece->site == HEAPPROF_SITE_WAITING) continue;
        piece->site = rb_heapprof_sites_same(&tables->sites, piece->site);
    }
}

/* ---- trimming ---- */

static void
need_functions(struct heapprof_tables *tables)
{
    uint32_t number;

    for (number = 1; number < tables->stacks.numbers.end; number++) {
        uint32_t function = rb_heapprof_stacks_node(&tables->stacks, number)->function;
        if (function) rb_heapprof_functions_get(&tables->functions, function)->needed = true;
    }
}

static void
need_identities(struct heapprof_tables *tables)
{
    struct heapprof_identity *identities = tables->identities.all;
    uint32_t number;

    for (number = 1; number < tables->functions.numbers.end; number++) {
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&tables->functions, number);
        if (function->origin == 0) continue;
        if (!(function->origin & HEAPPROF_ORIGIN_C)) identities[function->origin].needed = true;
        if (function->owner) identities[function->owner].needed = true;
    }
    for (number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        uint32_t identity = rb_heapprof_site_identity(site);
        if (site->used && identity) identities[identity].needed = true;
    }
    for (number = 1; number < tables->c_paths.numbers.end; number++) {
        identities[rb_heapprof_stacks_node(&tables->c_paths, number)->function].needed = true;
    }
    for (number = 0; (number = rb_heapprof_blocks_next(&tables->blocks, number)) != 0; ) {
        uint32_t class_id = tables->blocks.owners[number].class_id;
        if (class_id) identities[class_id].needed = true;
    }
}

static void
need_strings(struct heapprof_tables *tables)
{
    struct heapprof_strings *strings = &tables->strings;
    uint32_t number;

    for (size_t set = 1; set < tables->label_strings_capacity; set++)
        rb_heapprof_strings_need(strings, tables->label_strings[set]);
    for (number = 1; number < tables->functions.numbers.end; number++) {
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&tables->functions, number);
        if (function->origin == 0) continue;
        rb_heapprof_strings_need(strings, function->name);
        rb_heapprof_strings_need(strings, function->path);
    }
    for (number = 1; number < tables->identities.numbers.end; number++) {
        const struct heapprof_identity *identity = &tables->identities.all[number];
        if (!identity->used) continue;
        rb_heapprof_strings_need(strings, identity->library);
        if (identity->name != HEAPPROF_UNNAMED) rb_heapprof_strings_need(strings, identity->name);
    }
    for (size_t i = tables->dead_objects.first; i < tables->dead_objects.end; i++)
        rb_heapprof_strings_need(strings, tables->dead_objects.all[i].class_name);
    for (uint32_t i = 0; i < tables->uses.count; i++)
        rb_heapprof_strings_need(strings, tables->uses.all[i].object.class_name);
}

uint32_t
rb_heapprof_tables_trim_entries(const struct heapprof_tables *tables)
{
    return tables->stacks.numbers.count + tables->functions.numbers.count +
           tables->identities.numbers.count + tables->strings.numbers.count +
           tables->sites.numbers.count + tables->blocks.numbers.count;
}

uint32_t
rb_heapprof_tables_trim(struct heapprof_tables *tables,
                        const struct heapprof_letting_go *letting_go)
{
    uint32_t freed = rb_heapprof_stacks_trim(&tables->stacks);

    need_functions(tables);
    freed += rb_heapprof_functions_sweep(&tables->functions);
    need_identities(tables);
    freed += rb_heapprof_identities_sweep(&tables->identities, letting_go);
    need_strings(tables);
    return freed + rb_heapprof_strings_sweep(&tables->strings);
}

/* ---- room ---- */

/* Returns whether numbers have run out, or places in the index. A table that is still empty has
 * refused nothing. */
static bool
full_p(const struct heapprof_numbers *numbers, const struct heapprof_index *index)
{
    return numbers->capacity > 0 && (!rb_heapprof_numbers_room_p(numbers) ||
                                     !rb_heapprof_index_room_p(index, numbers->count));
}

/* Only the caller that was refused knows how much room a name needs. */
static bool
strings_full_p(const struct heapprof_strings *strings)
{
    return full_p(&strings->numbers, &strings->index) ||
           strings->mem->refused_block == (void **)&strings->bytes;
}

/* What sites have besides their totals is in arrays of its own. */
static bool
past_full_p(const struct heapprof_sites *sites)
{
    const void *refused = sites->mem->refused_block;

    return refused && (refused == &sites->deaths || refused == &sites->object_sums.now ||
                       refused == &sites->object_sums.peak || refused == &sites->block_sums.now ||
                       refused == &sites->block_sums.peak);
}

static bool
identities_full_p(const struct heapprof_identities *identities)
{
    const struct heapprof_address_table *addresses = &identities->addresses;

    return addresses->numbers.count > 0 &&
           (!rb_heapprof_address_table_room_p(addresses) ||
            rb_heapprof_address_table_next_entry(addresses) >= identities->ids_capacity ||
            !rb_heapprof_numbers_room_p(&identities->numbers));
}

unsigned int
rb_heapprof_tables_full(const struct heapprof_tables *tables)
{
    const struct heapprof_address_table *live = &tables->live.addresses;
    unsigned int full = 0;

    if (live->numbers.count > 0 &&
        !rb_heapprof_live_table_room_p(&tables->live)) {
        full |= HEAPPROF_FULL_OBJECTS;
    }
    if (tables->blocks.live_count > 0 && !rb_heapprof_blocks_room_p(&tables->blocks)) {
        full |= HEAPPROF_FULL_BLOCKS;
    }
    if (full_p(&tables->sites.numbers, &tables->sites.index) ||
        full_p(&tables->stacks.numbers, &tables->stacks.index) ||
        full_p(&tables->c_paths.numbers, &tables->c_paths.index) ||
        full_p(&tables->functions.numbers, &tables->functions.index) ||
        identities_full_p(&tables->identities) || strings_full_p(&tables->strings) ||
        past_full_p(&tables->sites)) {
        full |= HEAPPROF_FULL_STACKS;
    }
    return full;
}

/* ---- debug ---- */

static bool
identity_p(const struct heapprof_tables *tables, uint64_t id)
{
    return id < tables->identities.numbers.end && tables->identities.all[id].used;
}

/* Checks the site of a live sample or of a piece. */
static void
check_live_site(const struct heapprof_tables *tables, uint32_t number, bool of_blocks)
{
    const struct heapprof_site *site;

    HEAPPROF_ASSERT(number > 0 && number < tables->sites.numbers.end);
    site = rb_heapprof_sites_get(&tables->sites, number);
    HEAPPROF_ASSERT(site->used && site->live_samples > 0);
    HEAPPROF_ASSERT(rb_heapprof_site_of_blocks_p(site) == of_blocks);
}

static void
check_samples(const struct heapprof_tables *tables)
{
    const struct heapprof_address_table *addresses = &tables->live.addresses;
    uint64_t live_samples = 0, waiting = 0;
    uint32_t entry, number;

    for (entry = 1; entry < addresses->numbers.end; entry++) {
        if (rb_heapprof_address_table_address(addresses, entry) == 0) continue;
        check_live_site(tables, rb_heapprof_live_table_sample(&tables->live, entry)->site, false);
    }
    for (number = 1; number < tables->blocks.numbers.end; number++) {
        uint32_t site = tables->blocks.pieces[number].site;
        if (site == HEAPPROF_SITE_WAITING) waiting++;
        else if (site) check_live_site(tables, site, true); /* retired pieces, too */
    }
    for (number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        uint32_t identity = rb_heapprof_site_identity(site);
        HEAPPROF_ASSERT(!site->used || identity == 0 || identity_p(tables, identity));
        live_samples += site->live_samples;
    }
    for (number = 0; (number = rb_heapprof_blocks_next(&tables->blocks, number)) != 0; ) {
        uint32_t class_id = tables->blocks.owners[number].class_id;
        HEAPPROF_ASSERT(class_id == 0 || identity_p(tables, class_id));
    }
    HEAPPROF_ASSERT(live_samples + waiting ==
                    (uint64_t)addresses->numbers.count + tables->blocks.numbers.count);
}

static bool
string_p(const struct heapprof_tables *tables, uint32_t number)
{
    return number == 0 ||
           (number < tables->strings.numbers.end && tables->strings.all[number].length > 0);
}

static void
check_names(const struct heapprof_tables *tables)
{
    uint32_t number;

    for (number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        HEAPPROF_ASSERT(!site->used || string_p(tables, site->label));
    }
    for (number = 1; number < tables->stacks.numbers.end; number++) {
        uint32_t function = rb_heapprof_stacks_node(&tables->stacks, number)->function;
        HEAPPROF_ASSERT(!function || function < tables->functions.numbers.end);
        HEAPPROF_ASSERT(!function ||
                        rb_heapprof_functions_get(&tables->functions, function)->origin);
    }
    for (number = 1; number < tables->functions.numbers.end; number++) {
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&tables->functions, number);
        if (function->origin == 0) continue;
        HEAPPROF_ASSERT(string_p(tables, function->name) && string_p(tables, function->path));
        HEAPPROF_ASSERT(function->origin & HEAPPROF_ORIGIN_C ||
                        identity_p(tables, function->origin));
        HEAPPROF_ASSERT(function->owner == 0 || identity_p(tables, function->owner));
    }
    for (number = 1; number < tables->c_paths.numbers.end; number++) {
        HEAPPROF_ASSERT(
            identity_p(tables, rb_heapprof_stacks_node(&tables->c_paths, number)->function));
    }
    for (number = 1; number < tables->identities.numbers.end; number++) {
        const struct heapprof_identity *identity = &tables->identities.all[number];
        if (!identity->used) continue;
        HEAPPROF_ASSERT(identity->name == HEAPPROF_UNNAMED || string_p(tables, identity->name));
        HEAPPROF_ASSERT(string_p(tables, identity->library));
    }
}

/* Sums of doubles leave a little over. */
static bool
near_p(double one, double other, double all)
{
    double off = one - other;

    return (off < 0 ? -off : off) <= 1 + all * 1e-9;
}

static void
check_sums_of(const struct heapprof_sites *sites, bool of_blocks, const struct heapprof_sum *alive)
{
    const struct heapprof_sums *sums = of_blocks ? &sites->block_sums : &sites->object_sums;
    double bytes = 0;

    for (uint32_t i = 1; i < sites->numbers.end && i < rb_heapprof_sums_room(sums); i++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(sites, i);
        struct heapprof_sum now = sums->now[i];
        if (!site->used || rb_heapprof_site_of_blocks_p(site) != of_blocks) continue;
        if (!of_blocks) {
            now.objects += site->alloc_objects;
            now.bytes += site->alloc_bytes;
        }
        HEAPPROF_ASSERT(near_p(now.objects, alive[i].objects, site->alloc_objects));
        HEAPPROF_ASSERT(near_p(now.bytes, alive[i].bytes, site->alloc_bytes));
        HEAPPROF_ASSERT(sums->peak[i].bytes > -1 - site->alloc_bytes * 1e-9);
        bytes += alive[i].bytes;
    }
    HEAPPROF_ASSERT(!of_blocks || near_p(bytes, sums->bytes, bytes + 1e9));
}

/* Adds up again what is alive, in memory from the system. */
static void
check_sums(const struct heapprof_tables *tables)
{
    const struct heapprof_live_table *live = &tables->live;
    const struct heapprof_blocks *blocks = &tables->blocks;
    size_t capacity = 0, end = tables->sites.numbers.end;
    struct heapprof_sum *alive = NULL;
    struct heapprof_mem mem;

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    if (!tables->sites.object_sums.kept || !HEAPPROF_MEM_GROW(&mem, alive, capacity, end)) return;
    for (uint32_t entry = 1; entry < live->addresses.numbers.end; entry++) {
        const struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
        if (!rb_heapprof_address_table_address(&live->addresses, entry)) continue;
        alive[sample->site].objects += (double)sample->weight;
        alive[sample->site].bytes += (double)sample->weight * sample->slot_bytes;
    }
    check_sums_of(&tables->sites, false, alive);
    memset(alive, 0, end * sizeof(*alive));
    for (uint32_t number = 1; number < blocks->numbers.end; number++) {
        const struct heapprof_piece *piece = &blocks->pieces[number];
        if (piece->site == 0 || piece->site == HEAPPROF_SITE_WAITING) continue;
        alive[piece->site].bytes += (double)piece->weight * (double)piece->held_bytes;
    }
    check_sums_of(&tables->sites, true, alive);
    HEAPPROF_MEM_RELEASE(&mem, alive, capacity);
}

void
rb_heapprof_tables_check(const struct heapprof_tables *tables)
{
    rb_heapprof_strings_check(&tables->strings);
    rb_heapprof_identities_check(&tables->identities);
    rb_heapprof_functions_check(&tables->functions);
    rb_heapprof_stacks_check(&tables->stacks);
    rb_heapprof_stacks_check(&tables->c_paths);
    rb_heapprof_sites_check(&tables->sites);
    rb_heapprof_live_table_check(&tables->live);
    rb_heapprof_blocks_check(&tables->blocks);
    rb_heapprof_reported_check(&tables->reported);
    check_samples(tables);
    check_sums(tables);
    check_names(tables);
}
