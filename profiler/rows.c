/* rows.c - adds the samples of the tables up to the rows of a snapshot.
 *
 * The live samples are strung together by site, then each site's are put into one bin an
 * age. Ages are 0 or a power of two, so a site has few bins, and all takes time in
 * proportion to samples and sites:
 *
 *     first[site] -> sample -> sample -> 0           rows of a site
 *                      next[]                        age 0      alloc = inuse
 *                                                    age 1, 2, 4, ...
 *     totals of the site - all those rows =          age DEAD   inuse 0
 *
 *   I1  over all rows up to any one, alloc adds up to the sites' totals and inuse to the
 *       live samples, to within a half of each: rows have whole numbers, and what
 *       rounding leaves over is carried to the next row (error diffusion, as Floyd and
 *       Steinberg 1976 do it for pictures). Rounded by themselves, rows of one sample
 *       of one weight would all err to the same side.
 *   I2  rows come by site number, then age, the dead last; after all of them the
 *       folded row. Equal tables give equal rows.
 *
 * Allocates from the snapshot's account; takes no lock and calls nothing but gone_p.
 */
#include "rows.h"

#include <math.h>

#include "check.h"

#define AGE_BINS 32 /* age 0, then 2^0 .. 2^30 */

/* What samples stand for: one age of a site, or its dead. */
struct sum {
    double objects;
    double alloc_bytes;
    double inuse_bytes;
};

/* What adding up needs; its blocks go when the rows are done. */
struct adding {
    struct heapprof_snapshot *snapshot;
    const struct heapprof_tables *tables;
    uint32_t *first;             /* by site: a live sample's entry, 0: none */
    size_t    first_capacity;
    uint32_t *next;              /* by entry: the next one of the same site */
    size_t    next_capacity;
    uint32_t  anonymous;         /* string for classes without a name */
    uint32_t *first_piece;       /* the same two for the pieces of blocks */
    size_t    first_piece_capacity;
    uint32_t *next_piece;
    size_t    next_piece_capacity;
    struct sum carried[2][2];    /* what rounding has left over from the rows before: of
                                    objects or blocks, living or dead */
};

/* ---- adding up ---- */

/* Strings the samples that are alive together by site. Goes backwards, so that each
 * chain runs forwards. */
static bool
chain_samples(struct adding *adding, bool (*gone_p)(uintptr_t, void *), void *data)
{
    const struct heapprof_live_table *live = &adding->tables->live;
    struct heapprof_mem *mem = &adding->snapshot->mem;
    uint32_t entry;

    if (!HEAPPROF_MEM_GROW(mem, adding->first, adding->first_capacity,
                           adding->tables->sites.end) ||
        !HEAPPROF_MEM_GROW(mem, adding->next, adding->next_capacity,
                           live->addresses.entries_end)) {
        return false;
    }
    for (entry = live->addresses.entries_end - 1; entry > 0; entry--) {
        uintptr_t address = rb_heapprof_address_table_address(&live->addresses, entry);
        uint32_t site;
        if (address == 0 || (gone_p && gone_p(address, data))) continue;
        site = rb_heapprof_live_table_sample(live, entry)->site;
        HEAPPROF_ASSERT(site < adding->tables->sites.end);
        adding->next[entry] = adding->first[site];
        adding->first[site] = entry;
        adding->snapshot->facts.live_samples++;
    }
    return true;
}

static bool
chain_pieces(struct adding *adding)
{
    const struct heapprof_blocks *blocks = &adding->tables->blocks;
    struct heapprof_mem *mem = &adding->snapshot->mem;
    uint32_t piece;

    if (!HEAPPROF_MEM_GROW(mem, adding->first_piece, adding->first_piece_capacity,
                           adding->tables->sites.end) ||
        !HEAPPROF_MEM_GROW(mem, adding->next_piece, adding->next_piece_capacity, blocks->end)) {
        return false;
    }
    for (piece = 0; (piece = rb_heapprof_blocks_next_live(blocks, piece)) != 0; ) {
        uint32_t site = blocks->pieces[piece].site;
        HEAPPROF_ASSERT(site < adding->tables->sites.end);
        adding->next_piece[piece] = adding->first_piece[site];
        adding->first_piece[site] = piece;
        adding->snapshot->facts.live_samples++;
    }
    return true;
}

/* 0 for an age of 0, else 1 + the exponent of the power of two at or below it. The
 * count may have wrapped since the birth. One that seems to lie ahead is of an object
 * younger than the GC the snapshot is as of. */
static int
age_bin(uint64_t gc_count, uint32_t birth_gc)
{
    uint32_t age = (uint32_t)gc_count - birth_gc;
    int bin = 0;

    if (age > INT32_MAX) return 0;
    while (age >> bin) bin++;
    return bin;
}

static uint32_t
bin_age(int bin)
{
    return bin ? UINT32_C(1) << (bin - 1) : 0;
}

uint32_t
rb_heapprof_rows_age(uint64_t gc_count, uint32_t birth_gc)
{
    return bin_age(age_bin(gc_count, birth_gc));
}

static uint32_t
class_name(const struct adding *adding, uint32_t class_id)
{
    uint32_t name;

    if (class_id == 0) return 0;
    name = adding->tables->identities.all[class_id].name;
    return name == HEAPPROF_UNNAMED ? adding->anonymous : name;
}

/* The next whole number of a series of values: what is left over is carried on. */
static double
whole(double value, double *carried)
{
    double number;

    *carried += value > 0 ? value : 0; /* a difference of sums may be a little below 0 */
    number = floor(*carried + 0.5);
    *carried -= number;
    return number;
}

/* Adds row with these values in whole numbers, unless nothing is left of them. */
static bool
add_row(struct adding *adding, struct heapprof_row row, const struct sum *sum)
{
    bool dead = row.gc_age == HEAPPROF_AGE_DEAD;
    struct heapprof_snapshot *snapshot = adding->snapshot;
    struct sum *carried = &adding->carried[row.blocks][dead];
    double objects = whole(sum->objects, &carried->objects);
    double alloc_bytes = whole(sum->alloc_bytes, &carried->alloc_bytes);
    double inuse_bytes = whole(sum->inuse_bytes, &carried->inuse_bytes);

    if (objects == 0 && alloc_bytes == 0) return true;
    if (row.blocks) {
        row.alloc_malloc_bytes = alloc_bytes;
        row.inuse_malloc_bytes = inuse_bytes;
    }
    else {
        row.alloc_objects = objects;
        row.inuse_objects = dead ? 0 : objects;
        row.alloc_slot_bytes = alloc_bytes;
        row.inuse_slot_bytes = inuse_bytes;
    }
    if (!HEAPPROF_MEM_GROW(&snapshot->mem, snapshot->rows, snapshot->rows_capacity,
                           snapshot->row_count + 1)) return false;
    snapshot->rows[snapshot->row_count++] = row;
    return true;
}

/* What the site has allocated, by age and dead. */
struct ages {
    struct sum bins[AGE_BINS];
    struct sum dead;
};

/* Moves what a live sample stands for from the dead, where the totals are, to its age. */
static void
add_alive(struct ages *ages, int age, double weight, double alloc_bytes, double inuse_bytes)
{
    struct sum *bin = &ages->bins[age];

    bin->objects += weight;
    bin->alloc_bytes += weight * alloc_bytes;
    bin->inuse_bytes += weight * inuse_bytes;
    ages->dead.objects -= weight;
    ages->dead.alloc_bytes -= weight * alloc_bytes;
}

static void
bin_samples(const struct adding *adding, uint32_t number, struct ages *ages)
{
    const struct heapprof_live_table *live = &adding->tables->live;
    uint64_t gc_count = adding->snapshot->facts.gc_count;
    uint32_t entry;

    for (entry = adding->first[number]; entry; entry = adding->next[entry]) {
        const struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
        add_alive(ages, age_bin(gc_count, sample->birth_gc), sample->weight,
                  sample->birth_bytes, sample->slot_bytes);
    }
}

static void
bin_pieces(const struct adding *adding, uint32_t number, struct ages *ages)
{
    const struct heapprof_blocks *blocks = &adding->tables->blocks;
    uint64_t gc_count = adding->snapshot->facts.gc_count;
    uint32_t entry;

    for (entry = adding->first_piece[number]; entry; entry = adding->next_piece[entry]) {
        const struct heapprof_piece *piece = &blocks->pieces[entry];
        add_alive(ages, age_bin(gc_count, piece->birth_gc), piece->weight,
                  (double)piece->asked_bytes, (double)piece->held_bytes);
    }
}

static bool
add_site(struct adding *adding, uint32_t number)
{
    const struct heapprof_site *site = rb_heapprof_sites_get(&adding->tables->sites, number);
    struct ages ages = {.dead = {site->alloc_objects, site->alloc_bytes, 0}};
    struct heapprof_row row = {0};
    int bin;

    row.stack = site->stack;
    row.blocks = rb_heapprof_site_of_blocks_p(site);
    row.class_name = class_name(adding, rb_heapprof_site_identity(site));
    if (row.blocks) {
        bin_pieces(adding, number, &ages);
    }
    else {
        bin_samples(adding, number, &ages);
    }
    for (bin = 0; bin < AGE_BINS; bin++) {
        row.gc_age = bin_age(bin);
        if (!add_row(adding, row, &ages.bins[bin])) return false;
    }
    row.gc_age = HEAPPROF_AGE_DEAD;
    return add_row(adding, row, &ages.dead);
}

static bool
add_folded(struct adding *adding)
{
    const struct heapprof_site *folded = &adding->tables->sites.folded;
    const struct heapprof_site *blocks = &adding->tables->sites.folded_blocks;
    struct sum dead = {folded->alloc_objects, folded->alloc_bytes, 0};
    struct sum dead_blocks = {blocks->alloc_objects, blocks->alloc_bytes, 0};
    struct heapprof_row row = {0};

    row.gc_age = HEAPPROF_AGE_DEAD;
    row.folded = true;
    if (!add_row(adding, row, &dead)) return false;
    row.blocks = true;
    return add_row(adding, row, &dead_blocks);
}

static bool
add_rows(struct adding *adding)
{
    const struct heapprof_sites *sites = &adding->tables->sites;
    uint32_t number;

    for (number = 1; number < sites->end; number++) {
        if (rb_heapprof_sites_get(sites, number)->used && !add_site(adding, number)) return false;
    }
    return add_folded(adding);
}

static bool
name_anonymous(struct adding *adding)
{
    static const char text[] = "(anonymous)";

    adding->anonymous = rb_heapprof_strings_intern(&adding->snapshot->strings,
                                                   text, sizeof(text) - 1);
    return adding->anonymous != UINT32_MAX;
}

/* ---- the whole ---- */

bool
rb_heapprof_rows_add(struct heapprof_snapshot *snapshot, const struct heapprof_tables *tables,
                     bool (*gone_p)(uintptr_t address, void *data), void *data)
{
    struct adding adding = {.snapshot = snapshot, .tables = tables};
    struct heapprof_mem *mem = &snapshot->mem;
    bool added = name_anonymous(&adding) && chain_samples(&adding, gone_p, data) &&
                 chain_pieces(&adding) && add_rows(&adding);

    HEAPPROF_MEM_RELEASE(mem, adding.first, adding.first_capacity);
    HEAPPROF_MEM_RELEASE(mem, adding.next, adding.next_capacity);
    HEAPPROF_MEM_RELEASE(mem, adding.first_piece, adding.first_piece_capacity);
    HEAPPROF_MEM_RELEASE(mem, adding.next_piece, adding.next_piece_capacity);
    return added;
}
