/* rows.c - adds copied samples up to the rows of a snapshot.
 *
 * The live samples are chained by site. Then each site's samples are put into one bin for each age.
 * Ages are 0 or a power of two, so a site has few bins. The work is in proportion to samples and
 * sites:
 *
 *     first[site] -> sample -> sample -> 0           rows of a site
 *                      next[]                        age 0      alloc = inuse
 *                                                    age 1, 2, 4, ...
 *     totals of the site - all those rows =          age DEAD   inuse 0
 *
 * If ages at death are known, the last row becomes four: for what has survived 0, 1, 2 to 3, and 4
 * or more GCs. The last of these has what the others leave. If the peak is known, one more row
 * follows.
 *
 * Pieces of blocks are sorted by site and owner (pieces.c). There is a row for each age of an
 * owner.
 *
 *   I1  Up to any row, the rows of the living add up to the live samples, to within a half, and
 *       those of the dead to what the sites have lost. Rows have whole numbers, and the rest that
 *       rounding leaves is carried to the next row. This is error diffusion, as Floyd and Steinberg
 *       (1976) do it for pictures. If each row were rounded by itself, all rows of one sample of
 *       one weight would err to the same side. Rows that follow each other have up to a half from
 *       those before, and hand on up to a half: their sum may be off by one.
 *   I2  Rows are in the order of site number, then owner, then age. The dead come last. The folded
 *       row follows all of them. Equal tables give equal rows.
 *
 * Allocates from the snapshot's account. Reads only the copies, so it takes no lock.
 */
#include "profiler/rows.h"

#include <math.h>

#include "base/check.h"
#include "profiler/leaks/suspects.h"

#define AGE_BINS 32 /* age 0, then 2^0 .. 2^30 */

/* What samples stand for: one age of a site, or the site's dead. */
struct rows_sum {
    double objects;
    double alloc_bytes;
    double inuse_bytes;
    double inuse_variance;       /* of inuse_bytes */
    double memsize_bytes;
};

/* The state of adding up. Its blocks are freed when the rows are done. */
struct rows_adding {
    struct heapprof_snapshot *snapshot;
    const struct heapprof_copies *copies;
    uint32_t *first;             /* by site: the entry of a live sample; 0: the site has no live
                                    sample */
    size_t    first_capacity;
    uint32_t *next;              /* by entry: the next entry of the same site */
    size_t    next_capacity;
    size_t    pieces_done;       /* so many of the copies' pieces have their rows */
    struct heapprof_native_leaks leaks;
    struct rows_sum carried_peak[2];  /* the same of the peak */
    struct rows_sum carried[2][2];    /* what rounding has left over from the rows before: by kind
                                         (objects or blocks), and by living or dead */
};

/* ---- what is dead, though it has not been swept ---- */

/* Such a sample dies in this GC. Its site's totals have it, and its site's deaths have not. */
static void
count_gone(struct heapprof_copies *copies)
{
    uint32_t last_gc = (uint32_t)copies->snapshot->facts.gc_count - 1;

    for (uint32_t entry = 1; copies->gone && entry < copies->samples_end; entry++) {
        const struct heapprof_sample *sample = &copies->samples[entry];
        if (sample->weight >= 0) continue;
        rb_heapprof_death_count(&copies->deaths[sample->site], sample->birth_gc, last_gc,
                                -(double)sample->weight, sample->birth_bytes);
    }
}

/* ---- adding up ---- */

/* Chains the samples by site. The loop goes backwards, so each chain runs forwards. */
static bool
chain_samples(struct rows_adding *adding)
{
    const struct heapprof_copies *copies = adding->copies;
    struct heapprof_mem *mem = &adding->snapshot->mem;
    uint32_t entry;

    if (!HEAPPROF_MEM_GROW(mem, adding->first, adding->first_capacity, copies->sites_end) ||
        !HEAPPROF_MEM_GROW(mem, adding->next, adding->next_capacity, copies->samples_end)) {
        return false;
    }
    for (entry = copies->samples_end - 1; entry > 0; entry--) {
        const struct heapprof_sample *sample = &copies->samples[entry];
        if (sample->weight <= 0) continue;
        HEAPPROF_ASSERT(sample->site < copies->sites_end && copies->sites[sample->site].used);
        adding->next[entry] = adding->first[sample->site];
        adding->first[sample->site] = entry;
        rb_heapprof_native_leaks_object(&adding->leaks, copies->sites[sample->site].stack,
                                        sample->birth_gc);
    }
    return true;
}

static void
note_ownerless(struct rows_adding *adding)
{
    for (size_t i = 0; i < adding->copies->piece_count; i++) {
        const struct heapprof_copied_piece *copy = &adding->copies->pieces[i];
        if (copy->owner || copy->piece.begin > 0) continue;
        rb_heapprof_native_leaks_block(&adding->leaks, copy->piece.site, copy->piece.birth_gc);
    }
}

/* ---- ages ---- */

/* Returns 0 for an age of 0, else 1 + the exponent of the power of two at or below the age. The
 * count may have wrapped since the birth. If a birth seems to lie ahead, the object is younger
 * than the GC that the snapshot is as of. */
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

/* Returns the library that the caller is in. */
static uint32_t
library_of(const struct rows_adding *adding, uint32_t identity)
{
    return identity ? adding->copies->identities[identity].library : 0;
}

/* Returns the name of a class or caller. */
static uint32_t
name_of(const struct rows_adding *adding, uint32_t identity)
{
    uint32_t name;

    if (identity == 0) return 0;
    name = adding->copies->identities[identity].name;
    return name == HEAPPROF_UNNAMED ? adding->copies->anonymous : name;
}

/* Returns the next whole number of a series of values. The rest is carried on. */
static double
whole(double value, double *carried)
{
    double number;

    *carried += value > 0 ? value : 0; /* a difference of sums may be a little below 0 */
    number = floor(*carried + 0.5);
    *carried -= number;
    return number;
}

static bool
push_row(struct heapprof_snapshot *snapshot, const struct heapprof_row *row)
{
    if (!HEAPPROF_MEM_GROW(&snapshot->mem, snapshot->rows, snapshot->rows_capacity,
                           snapshot->row_count + 1)) return false;
    snapshot->rows[snapshot->row_count++] = *row;
    return true;
}

/* Adds row with these values in whole numbers, except if all of them are 0. */
static bool
add_row(struct rows_adding *adding, struct heapprof_row row, const struct rows_sum *sum)
{
    bool dead = row.gc_age == HEAPPROF_AGE_DEAD;
    struct rows_sum *carried = &adding->carried[row.kind][dead];
    double objects = whole(sum->objects, &carried->objects);
    double alloc_bytes = whole(sum->alloc_bytes, &carried->alloc_bytes);
    double inuse_bytes = whole(sum->inuse_bytes, &carried->inuse_bytes);

    if (objects == 0 && alloc_bytes == 0) return true;
    row.inuse_variance = sum->inuse_variance;
    if (row.kind == HEAPPROF_ROW_BLOCKS) {
        row.alloc_malloc_bytes = alloc_bytes;
        row.inuse_malloc_bytes = inuse_bytes;
    }
    else {
        row.alloc_objects = objects;
        row.inuse_objects = dead ? 0 : objects;
        row.alloc_slot_bytes = alloc_bytes;
        row.inuse_slot_bytes = inuse_bytes;
        row.memsize_bytes = sum->memsize_bytes;
    }
    if (row.death_age == 1) {
        row.temp_objects = row.alloc_objects;
        row.temp_bytes = alloc_bytes;
    }
    return push_row(adding->snapshot, &row);
}

/* Adds a row for each age at death. */
static bool
add_deaths(struct rows_adding *adding, struct heapprof_row row,
           const struct heapprof_deaths *deaths, struct rows_sum dead)
{
    for (uint32_t age = 0; age < HEAPPROF_COUNTED_AGES; age++) {
        struct rows_sum sum = { .objects = deaths->of_age[age].objects,
                                .alloc_bytes = deaths->of_age[age].bytes };
        dead.objects -= sum.objects;
        dead.alloc_bytes -= sum.alloc_bytes;
        row.death_age = 1 + age;
        if (!add_row(adding, row, &sum)) return false;
    }
    row.death_age = 1 + 4;
    return add_row(adding, row, &dead);
}

static bool
add_dead(struct rows_adding *adding, struct heapprof_row row, const struct heapprof_deaths *deaths,
         const struct rows_sum *dead)
{
    row.gc_age = HEAPPROF_AGE_DEAD;
    return adding->copies->deaths ? add_deaths(adding, row, deaths, *dead)
                                  : add_row(adding, row, dead);
}

static bool
add_peak(struct rows_adding *adding, struct heapprof_row row, const struct heapprof_sum *peak)
{
    struct rows_sum *carried = &adding->carried_peak[row.kind];

    row.gc_age = HEAPPROF_AGE_DEAD;
    row.peak_objects = whole(peak->objects, &carried->objects);
    row.peak_bytes = whole(peak->bytes, &carried->inuse_bytes);
    return (row.peak_objects == 0 && row.peak_bytes == 0) || push_row(adding->snapshot, &row);
}

/* What a site has allocated, by age, and what of it is dead. Most sites have few ages. The bins
 * of other ages are neither written nor read. */
struct ages {
    uint32_t   used; /* a bit for each bin */
    struct rows_sum dead;
    struct rows_sum bins[AGE_BINS];
};

static void
init_ages(struct ages *ages, const struct rows_sum *dead)
{
    ages->used = 0;
    ages->dead = *dead;
}

static struct rows_sum *
bin_of_age(struct ages *ages, int age)
{
    uint32_t bit = UINT32_C(1) << age;

    if (!(ages->used & bit)) ages->bins[age] = (struct rows_sum){0};
    ages->used |= bit;
    return &ages->bins[age];
}

/* The totals are in the dead at first. Moves what a live sample stands for from the dead to the
 * sample's age. */
static struct rows_sum *
add_alive(struct ages *ages, int age, double weight, double alloc_bytes, double inuse_bytes)
{
    struct rows_sum *bin = bin_of_age(ages, age);

    bin->objects += weight;
    bin->alloc_bytes += weight * alloc_bytes;
    bin->inuse_bytes += weight * inuse_bytes;
    bin->inuse_variance += weight * (weight - 1) * inuse_bytes * inuse_bytes;
    ages->dead.objects -= weight;
    ages->dead.alloc_bytes -= weight * alloc_bytes;
    return bin;
}

static void
bin_samples(const struct rows_adding *adding, uint32_t number, struct ages *ages)
{
    const struct heapprof_copies *copies = adding->copies;
    uint64_t gc_count = adding->snapshot->facts.gc_count;
    uint32_t entry;

    for (entry = adding->first[number]; entry; entry = adding->next[entry]) {
        const struct heapprof_sample *sample = &copies->samples[entry];
        struct rows_sum *bin = add_alive(ages, age_bin(gc_count, sample->birth_gc), sample->weight,
                                    sample->birth_bytes, sample->slot_bytes);
        if (copies->memsizes) bin->memsize_bytes += (double)copies->memsizes[entry];
    }
}

/* Returns the first piece that has no row yet. Returns NULL if that piece is not of the site. */
static const struct heapprof_copied_piece *
next_piece(const struct rows_adding *adding, uint32_t number)
{
    const struct heapprof_copied_piece *next;

    if (adding->pieces_done == adding->copies->piece_count) return NULL;
    next = &adding->copies->pieces[adding->pieces_done];
    return next->piece.site == number ? next : NULL;
}

/* Puts the next pieces into bins: all pieces that have the site and owner of the first. */
static void
bin_pieces(struct rows_adding *adding, struct ages *ages)
{
    uint64_t gc_count = adding->snapshot->facts.gc_count;
    const struct heapprof_copied_piece *first = &adding->copies->pieces[adding->pieces_done], *next;

    for (; (next = next_piece(adding, first->piece.site)) != NULL; adding->pieces_done++) {
        const struct heapprof_piece *piece = &next->piece;
        if (next->owner_class != first->owner_class || next->owner_stack != first->owner_stack)
            break;
        add_alive(ages, age_bin(gc_count, piece->birth_gc), piece->weight,
                  (double)piece->asked_bytes, (double)piece->held_bytes);
    }
}

/* ---- rows ---- */

static bool
add_ages(struct rows_adding *adding, struct heapprof_row row, const struct ages *ages)
{
    for (uint32_t left = ages->used; left; left &= left - 1) {
        int bin = __builtin_ctz(left);
        row.gc_age = bin_age(bin);
        if (!add_row(adding, row, &ages->bins[bin])) return false;
    }
    return true;
}

/* Adds the rows of each owner, by age. What is left in dead afterwards has died. */
static bool
add_owners(struct rows_adding *adding, uint32_t number, struct heapprof_row row,
           struct rows_sum *dead)
{
    bool suspect = adding->snapshot->facts.owners && adding->snapshot->facts.old_gc &&
                   rb_heapprof_native_leaks_p(&adding->leaks, number, row.stack);

    const struct heapprof_copied_piece *piece;

    while ((piece = next_piece(adding, number)) != NULL) {
        struct ages ages;
        init_ages(&ages, dead);
        row.owner = name_of(adding, piece->owner_class);
        row.owner_stack = piece->owner_stack;
        row.native_leak = suspect && !piece->owner_class;
        bin_pieces(adding, &ages);
        if (!add_ages(adding, row, &ages)) return false;
        *dead = ages.dead;
    }
    return true;
}

static bool
add_objects(struct rows_adding *adding, uint32_t number, struct heapprof_row row,
            struct rows_sum *dead)
{
    struct ages ages;

    init_ages(&ages, dead);
    bin_samples(adding, number, &ages);
    *dead = ages.dead;
    return add_ages(adding, row, &ages);
}

static bool
add_site(struct rows_adding *adding, uint32_t number)
{
    const struct heapprof_site *site = &adding->copies->sites[number];
    struct rows_sum dead = {.objects = site->alloc_objects, .alloc_bytes = site->alloc_bytes};
    struct heapprof_row row = {
        .kind = rb_heapprof_site_of_blocks_p(site) ? HEAPPROF_ROW_BLOCKS : HEAPPROF_ROW_OBJECTS,
        .stack = site->stack,
        .subject = name_of(adding, rb_heapprof_site_identity(site)),
        .library = library_of(adding, rb_heapprof_site_identity(site)),
        .label = site->label,
    };
    bool added = row.kind == HEAPPROF_ROW_BLOCKS ? add_owners(adding, number, row, &dead)
                                                 : add_objects(adding, number, row, &dead);

    const struct heapprof_copies *copies = adding->copies;
    return added && add_dead(adding, row, copies->deaths ? &copies->deaths[number] : NULL, &dead) &&
           (!copies->peaks || add_peak(adding, row, &copies->peaks[number]));
}

static bool
add_folded(struct rows_adding *adding)
{
    const struct heapprof_site *folded = &adding->copies->folded;
    const struct heapprof_site *blocks = &adding->copies->folded_blocks;
    struct rows_sum dead = {.objects = folded->alloc_objects, .alloc_bytes = folded->alloc_bytes};
    struct rows_sum dead_blocks = { .objects = blocks->alloc_objects,
                                    .alloc_bytes = blocks->alloc_bytes };
    struct heapprof_row row = { .kind = HEAPPROF_ROW_OBJECTS,
                                .gc_age = HEAPPROF_AGE_DEAD,
                                .folded = true };

    if (!add_dead(adding, row, &adding->copies->folded_deaths, &dead) ||
        !add_peak(adding, row, &adding->copies->gone_peak)) return false;
    row.kind = HEAPPROF_ROW_BLOCKS;
    return add_dead(adding, row, &adding->copies->folded_block_deaths, &dead_blocks) &&
           add_peak(adding, row, &adding->copies->gone_block_peak);
}

static bool
add_rows(struct rows_adding *adding)
{
    const struct heapprof_copies *copies = adding->copies;
    uint32_t number;

    for (number = 1; number < copies->sites_end; number++) {
        if (copies->sites[number].used && !add_site(adding, number)) return false;
    }
    return add_folded(adding);
}

/* ---- the whole ---- */

bool
rb_heapprof_rows_add(struct heapprof_copies *copies)
{
    struct heapprof_snapshot *snapshot = copies->snapshot;
    struct rows_adding adding = {.snapshot = snapshot, .copies = copies};
    struct heapprof_mem *mem = &snapshot->mem;
    bool added = rb_heapprof_native_leaks_init(&adding.leaks, mem, (uint32_t)snapshot->facts.old_gc,
                                               copies->sites_end, snapshot->stacks.numbers.end) &&
                 chain_samples(&adding);

    if (added) note_ownerless(&adding);
    if (added) count_gone(copies);
    added = added && add_rows(&adding);
    HEAPPROF_MEM_RELEASE(mem, adding.first, adding.first_capacity);
    HEAPPROF_MEM_RELEASE(mem, adding.next, adding.next_capacity);
    rb_heapprof_native_leaks_free(&adding.leaks);
    return added;
}
