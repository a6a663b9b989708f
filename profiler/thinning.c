/* thinning.c - from the samples of one interval to those of a larger one.
 *
 * A sample of S bytes that was taken at interval R stands for 1/p(R), p(R) = 1 - exp(-S/R). At the
 * larger interval Q it is a sample, too, with probability
 *
 *     p(Q) / p(R) = weight(R) / weight(Q)         whatever becomes of the other samples
 *
 * and then stands for 1/p(Q). So what is left is a Poisson sample at Q: if each point of a
 * Poisson process is kept or not by a coin of its own, the kept points are a Poisson process of
 * a lower rate. On average a sample stands for what it stood for before:
 *
 *     weight(R)/weight(Q) * weight(Q)  +  (1 - weight(R)/weight(Q)) * 0  =  weight(R)
 *
 * That holds given all that was known before. So when to thin, and how far, may depend on how many
 * samples there are, and thinning may be repeated. Only a sample's weight matters, not when it was
 * taken: samples of several intervals become samples of one, and a sample of more than Q stays.
 *
 * It holds for each sample by itself. So samples need not all be thinned at one moment.
 * Thinning goes in steps, in the order of entries, and between two steps samples are taken,
 * die, move and are copied:
 *
 *     entry    1   2   3   4   5   6   7   8   9         next: the samples before it are of interval Q, or more
 *     weight   2   2   .   2   1   1   1   1   .   ->
 *                              ^next
 *
 * Entries that a step frees are used again at once, by samples that are taken at Q. A sample
 * that dies before its turn counts as one of R. To thin a sample of Q again changes nothing.
 *
 * A site's totals consist of its dead samples, with the weights they died with, and of its live
 * samples, with the weights they have. Thinning changes the live part only:
 *
 *     totals = dead + live      ->      totals - live + thinned live = dead + thinned live
 *
 * So totals minus live samples are what is dead, before and after, at the finer interval at
 * which it was known. It is never below 0. And allocated - dead = in use, in each row.
 *
 * What was alive at the peak stays as it is, too, with the weights of that moment (sums.h).
 *
 * Sites without a live sample are thinned in the same way, for a program may have ever new
 * ones. D is a site's bytes, with those of the peak added. The threshold T is twice the mean of all
 * D. A site of T bytes or more stays as it is. A smaller one stays with probability D/T, and then
 * all that it has is taken T/D times. The choice goes from site to site and takes one every T
 * bytes, from a random place on. So the sum over all sites is off by less than T.
 *
 *     sites of the dead   |  3 | 1 |    6     | 2 |  4  |  2 |       T = 6
 *     one every 6           ^             ^           ^               become  6, 6 and 6
 *
 * The caller serialises. Asks for no memory.
 */
#include "profiler/thinning.h"
#include "profiler/options.h"

/* ---- weights ---- */

enum { KNOWN_WEIGHTS = 64 };

/* Weights at one interval, of the sizes seen last: there are few, and expm1 takes its time. */
struct thinning_weights {
    uint64_t interval_bytes;
    size_t   sizes[KNOWN_WEIGHTS];
    float    known[KNOWN_WEIGHTS];
};

static float
weight(struct thinning_weights *weights, size_t size_bytes)
{
    size_t place = size_bytes / 8 % KNOWN_WEIGHTS;

    if (weights->sizes[place] != size_bytes) {
        weights->sizes[place] = size_bytes;
        weights->known[place] =
            (float)rb_heapprof_sampler_weight(weights->interval_bytes, size_bytes);
    }
    return weights->known[place];
}

/* ---- how far ---- */

/* At most so many samples of each kind are looked at, evenly spread. The share of them that
 * would be left is taken for the share of all. */
enum { LOOKED_AT = 8192 };

static double
share_left(float before, float after)
{
    return before < after ? (double)before / (double)after : 1;
}

static double
objects_left(const struct heapprof_live_table *live, uint64_t interval_bytes)
{
    const struct heapprof_address_table *addresses = &live->addresses;
    struct thinning_weights weights = {.interval_bytes = interval_bytes};
    uint32_t step = addresses->numbers.end / LOOKED_AT + 1;
    double left = 0, seen = 0;

    for (uint32_t entry = 1; entry < addresses->numbers.end; entry += step) {
        const struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
        if (!rb_heapprof_address_table_address(addresses, entry)) continue;
        left += share_left(sample->weight, weight(&weights, sample->birth_bytes));
        seen++;
    }
    return seen > 0 ? left / seen * addresses->numbers.count : 0;
}

static double
pieces_left(const struct heapprof_blocks *blocks, uint64_t interval_bytes)
{
    struct thinning_weights weights = {.interval_bytes = interval_bytes};
    uint32_t step = blocks->numbers.end / LOOKED_AT + 1;
    double left = 0, seen = 0;

    for (uint32_t number = 1; number < blocks->numbers.end; number += step) {
        const struct heapprof_piece *piece = &blocks->pieces[number];
        if (piece->held_bytes == 0) continue;
        left += share_left(piece->weight, weight(&weights, piece->asked_bytes));
        seen++;
    }
    return seen > 0 ? left / seen * blocks->live_count : 0;
}

/* A little more than half: samples that were thinned by half before are as likely above it as
 * below. */
#define HALF 0.52

/* Whether so many doublings leave at most half of the samples in each full table. */
static bool
enough_p(const struct heapprof_tables *tables, const struct heapprof_thinning *now,
         unsigned int doublings, unsigned int full)
{
    double objects = objects_left(&tables->live, now->interval_bytes << doublings);
    double pieces = pieces_left(&tables->blocks, now->malloc_interval_bytes << doublings);
    double all_objects = tables->live.addresses.numbers.count,
           all_pieces = tables->blocks.live_count;

    if (full & HEAPPROF_FULL_OBJECTS && objects > all_objects * HALF) return false;
    if (full & HEAPPROF_FULL_BLOCKS && pieces > all_pieces * HALF) return false;
    if (full & ~(unsigned int)HEAPPROF_FULL_STACKS) return true;
    return objects + pieces <= (all_objects + all_pieces) * HALF;
}

unsigned int
rb_heapprof_thinning_doublings(const struct heapprof_tables *tables,
                               const struct heapprof_thinning *now, unsigned int full)
{
    uint64_t larger = now->interval_bytes > now->malloc_interval_bytes ? now->interval_bytes
                                                                       : now->malloc_interval_bytes;
    unsigned int doublings = 0;

    if (tables->live.addresses.numbers.count + tables->blocks.live_count == 0) return 0;
    do {
        doublings++;
        if (larger << doublings > HEAPPROF_INTERVAL_MAX) return 0;
    } while (!enough_p(tables, now, doublings, full));
    return doublings;
}

/* ---- thinning ---- */

struct work {
    struct heapprof_tables *tables;
    const struct heapprof_thinning *thinning;
    struct thinning_weights weights;
    bool freed_sites;
};

/* The new weight of a sample: `before`, or the target, or 0 if it stops being a sample. */
static float
thinned(struct work *work, float before, float target)
{
    if (before >= target) return before;
    return rb_heapprof_sampler_uniform(work->thinning->sampler) * (double)target <= (double)before
               ? target : 0;
}

/* Lets the totals of the sample's site follow its new weight. Returns whether it is still a
 * sample. */
static bool
settle(struct work *work, uint32_t site, float before, float after, size_t size_bytes)
{
    struct heapprof_sites *sites = &work->tables->sites;

    if (after != before) rb_heapprof_sites_reweigh(sites, site, before, after, size_bytes);
    if (after != 0) return true;
    rb_heapprof_sites_count_free(sites, site);
    if (rb_heapprof_sites_forget(sites, site)) work->freed_sites = true;
    return false;
}

static bool
keep_object(uint32_t entry, uint32_t number, void *data)
{
    struct work *work = data;
    const struct heapprof_live_table *live = &work->tables->live;
    struct heapprof_sample *sample = rb_heapprof_live_table_sample(live, entry);
    float before = sample->weight;

    (void)number;
    rb_heapprof_numbers_change(&live->addresses.numbers, entry);
    sample->weight = thinned(work, before, weight(&work->weights, sample->birth_bytes));
    if (work->tables->sites.object_sums.kept && sample->slot_bytes != sample->birth_bytes) {
        double more = (double)sample->weight - (double)before;
        rb_heapprof_sums_change(&work->tables->sites.object_sums, sample->site, 0,
                                more * ((double)sample->slot_bytes - sample->birth_bytes));
    }
    if (settle(work, sample->site, before, sample->weight, sample->birth_bytes)) return true;
    work->thinning->forget(rb_heapprof_address_table_address(&live->addresses, entry));
    return false;
}

/* A piece that waits for its site keeps its weight, for it counts nowhere yet. */
static bool
keep_piece(struct heapprof_piece *piece, void *data)
{
    struct work *work = data;
    float before = piece->weight;

    if (piece->site == HEAPPROF_SITE_WAITING) return true;
    piece->weight = thinned(work, before, weight(&work->weights, piece->asked_bytes));
    return settle(work, piece->site, before, piece->weight, piece->asked_bytes);
}

/* ---- in steps ---- */

static void
step_objects(struct work *work, struct heapprof_stretch *left, uint32_t count)
{
    struct heapprof_address_table *addresses = &work->tables->live.addresses;

    work->weights = (struct thinning_weights){.interval_bytes = work->thinning->interval_bytes};
    for (; left->next < left->end && count > 0; left->next++, count--) {
        uintptr_t address = rb_heapprof_address_table_address(addresses, left->next);
        if (address == 0 || keep_object(left->next, left->next, work)) continue;
        rb_heapprof_address_table_remove(addresses, work->thinning->page_head(address), left->next);
    }
}

static void
step_blocks(struct work *work, struct heapprof_stretch *left, uint32_t count)
{
    work->weights =
        (struct thinning_weights){ .interval_bytes = work->thinning->malloc_interval_bytes };
    for (; left->next < left->end && count > 0; left->next++, count--) {
        rb_heapprof_blocks_thin(&work->tables->blocks, left->next, keep_piece, work);
    }
}

static struct heapprof_stretch
all_of(const struct heapprof_address_table *addresses)
{
    return (struct heapprof_stretch){.next = 1, .end = addresses->numbers.end};
}

void
rb_heapprof_thinning_begin(struct heapprof_thinning *thinning, const struct heapprof_tables *tables)
{
    thinning->objects = all_of(&tables->live.addresses);
    thinning->blocks = all_of(&tables->blocks.addresses);
}

bool
rb_heapprof_thinning_step(struct heapprof_tables *tables, struct heapprof_thinning *thinning,
                          unsigned int of, uint32_t count)
{
    struct work work = {.tables = tables, .thinning = thinning};

    if (of & HEAPPROF_FULL_OBJECTS) step_objects(&work, &thinning->objects, count);
    if (of & HEAPPROF_FULL_BLOCKS) step_blocks(&work, &thinning->blocks, count);
    return work.freed_sites;
}

/* ---- at once ---- */

void
rb_heapprof_thin(struct heapprof_tables *tables, struct heapprof_thinning *thinning)
{
    struct work work = {.tables = tables, .thinning = thinning,
                        .weights = {.interval_bytes = thinning->interval_bytes}};
    struct heapprof_packing packing = {
        .page_head = thinning->page_head, .keep = keep_object, .data = &work
    };

    rb_heapprof_live_table_pack(&tables->live, &packing);
    thinning->objects = (struct heapprof_stretch){0};
    thinning->blocks = all_of(&tables->blocks.addresses);
    rb_heapprof_thinning_step(tables, thinning, HEAPPROF_FULL_BLOCKS, UINT32_MAX);
    rb_heapprof_sites_forget_empty(&tables->sites);
}

/* ---- what is dead ---- */

static bool
dead_p(const struct heapprof_site *site, bool of_blocks)
{
    return site->used && site->live_samples == 0 &&
           rb_heapprof_site_of_blocks_p(site) == of_blocks;
}

/* What a site without a live sample had: in all, and at the peak. */
static double
size_of_dead(const struct heapprof_sites *sites, uint32_t number)
{
    return sites->all[number].alloc_bytes + rb_heapprof_sites_peak(sites, number).bytes;
}

/* Twice the mean size of sites without a live sample; 0 if they are less than a sixteenth of
 * all. */
static double
threshold_of_dead(const struct heapprof_sites *sites, bool of_blocks)
{
    double bytes = 0;
    uint32_t count = 0;

    for (uint32_t number = 1; number < sites->numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(sites, number);
        if (!dead_p(site, of_blocks)) continue;
        bytes += size_of_dead(sites, number);
        count++;
    }
    return count >= sites->numbers.count / 16 && count > 1 ? 2 * bytes / count : 0;
}

/* Empties the sites that are given up. forget_empty frees them. */
static void
thin_dead(struct heapprof_sites *sites, bool of_blocks, struct heapprof_sampler *sampler)
{
    double threshold = threshold_of_dead(sites, of_blocks);
    double to_next = rb_heapprof_sampler_uniform(sampler) * threshold;

    for (uint32_t number = 1; number < sites->numbers.end && threshold > 0; number++) {
        double size = size_of_dead(sites, number);
        if (!dead_p(&sites->all[number], of_blocks) || size >= threshold) continue;
        to_next -= size;
        bool stays = to_next <= 0 && size > 0;
        rb_heapprof_sites_scale(sites, number, stays ? threshold / size : 0);
        if (to_next <= 0) to_next += threshold;
    }
}

uint32_t
rb_heapprof_thin_dead(struct heapprof_tables *tables, struct heapprof_sampler *sampler)
{
    uint32_t freed;

    thin_dead(&tables->sites, false, sampler);
    thin_dead(&tables->sites, true, sampler);
    freed = rb_heapprof_sites_forget_empty(&tables->sites);
    tables->sites.folded_count += freed;
    return freed;
}
