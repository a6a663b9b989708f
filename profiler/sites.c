/* sites.c - what each stack has allocated of each class.
 *
 *     all        1                  2                  3
 *                stack 7, String    free               stack 7, Array
 *                live 3             next_free 0        live 0: foldable
 *                12000 objects                         400 objects
 *     folded     totals of sites that were given up; first only labels are (fold_labels)
 *     index      hash(stack, class, label) -> site
 *
 *   I1  no two sites in use have the same stack, class and label, and wait for the same name.
 *   I2  a site in use holds its stack once.
 *   I3  live_samples of a site = samples in the live table that name it.
 *   I4  the sum of all totals, those of folded included, is what was counted. Folding loses where
 *       something came from, never how much it was.
 *
 * The totals are of all samples since start. Minus what is alive, they are what is dead.
 *
 *   I5  deaths and object_sums have room for each site, if they are kept. block_sums are the
 *       business of blocks.c: they are under another lock.
 *   I6  The peaks of all sites, and what is gone of them, add up to what was alive at the peak.
 *       Thinning of what is alive leaves them as they are: like the dead, they are of the past.
 *
 * The caller serialises. intern allocates (mem.c); the rest may run anywhere.
 */
#include "profiler/sites.h"

#include <string.h>

#include "base/check.h"

static uint64_t
key_hash(const struct heapprof_site *key)
{
    uint64_t first = (uint64_t)key->stack << 32 | key->class_id;
    uint64_t second = (uint64_t)rb_heapprof_site_label(key) << 32 | key->c_path;

    return rb_heapprof_index_hash(first + second * UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_site *site =
        rb_heapprof_sites_get((const struct heapprof_sites *)owner, number);

    return key_hash(site);
}

static struct heapprof_sums *
sums_of(struct heapprof_sites *sites, const struct heapprof_site *site)
{
    return rb_heapprof_sites_sums(sites, rb_heapprof_site_of_blocks_p(site));
}

/* The site with the key of this one. */
static uint32_t
find(const struct heapprof_sites *sites, const struct heapprof_site *key)
{
    uint64_t probe = key_hash(key);
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&sites->index, probe)) != 0; probe++) {
        const struct heapprof_site *site = &sites->all[number];
        if (site->stack == key->stack && site->class_id == key->class_id &&
            rb_heapprof_site_label(site) == rb_heapprof_site_label(key) &&
            site->c_path == key->c_path)
            break;
    }
    return number;
}

static bool
reserve(struct heapprof_sites *sites)
{
    return HEAPPROF_NUMBERS_RESERVE(&sites->numbers, sites->mem, sites->all) &&
           (!sites->lifetimes ||
            HEAPPROF_MEM_GROW(sites->mem, sites->deaths, sites->deaths_capacity,
                              (size_t)rb_heapprof_numbers_next(&sites->numbers) + 1)) &&
           rb_heapprof_sums_reserve(&sites->object_sums, sites->mem,
                                    rb_heapprof_numbers_next(&sites->numbers)) &&
           rb_heapprof_index_reserve(&sites->index, sites->mem, sites->numbers.count, hash_i,
                                     sites);
}

static void
free_site(struct heapprof_sites *sites, uint32_t number)
{
    struct heapprof_site *site = &sites->all[number];

    rb_heapprof_index_erase(&sites->index, number, hash_i, sites);
    rb_heapprof_stacks_unhold(sites->stacks, site->stack);
    rb_heapprof_sums_forget(sums_of(sites, site), number);
    if (sites->lifetimes) sites->deaths[number] = (struct heapprof_deaths){0};
    memset(site, 0, sizeof(*site));
    rb_heapprof_numbers_give_back(&sites->numbers, number, &site->next_free);
    sites->edition++;
}

/* ---- life ---- */

void
rb_heapprof_sites_init(struct heapprof_sites *sites, struct heapprof_mem *mem,
                       struct heapprof_stacks *stacks)
{
    memset(sites, 0, sizeof(*sites));
    sites->mem = mem;
    sites->stacks = stacks;
    rb_heapprof_numbers_init(&sites->numbers);
}

void
rb_heapprof_sites_free(struct heapprof_sites *sites)
{
    HEAPPROF_NUMBERS_RELEASE(&sites->numbers, sites->mem, sites->all);
    HEAPPROF_MEM_RELEASE(sites->mem, sites->deaths, sites->deaths_capacity);
    rb_heapprof_sums_release(&sites->object_sums, sites->mem);
    rb_heapprof_sums_release(&sites->block_sums, sites->mem);
    rb_heapprof_index_release(&sites->index, sites->mem);
    rb_heapprof_sites_init(sites, sites->mem, sites->stacks);
}

/* ---- operations ---- */

uint32_t
rb_heapprof_sites_intern_called(struct heapprof_sites *sites, uint32_t stack, uint32_t class_id,
                                uint32_t label, uint32_t c_path)
{
    struct heapprof_site *site, key = { .stack = stack, .class_id = class_id,
                                        .c_path = c_path & INT32_MAX };
    uint32_t number;

    rb_heapprof_site_set_label(&key, label);
    number = find(sites, &key);
    if (number) return number;
    if (!reserve(sites)) return 0;

    number = rb_heapprof_numbers_next(&sites->numbers);
    site = &sites->all[number];
    rb_heapprof_numbers_take(&sites->numbers, &site->next_free);
    *site = key;
    site->used = true;
    rb_heapprof_stacks_hold(sites->stacks, stack);
    rb_heapprof_index_insert(&sites->index, hash_i(sites, number), number);
    return number;
}

uint32_t
rb_heapprof_sites_intern(struct heapprof_sites *sites, uint32_t stack, uint32_t class_id,
                         uint32_t label)
{
    return rb_heapprof_sites_intern_called(sites, stack, class_id, label, 0);
}

void
rb_heapprof_sites_count_alloc(struct heapprof_sites *sites, uint32_t site, double weight,
                              size_t size_bytes)
{
    struct heapprof_site *counted = &sites->all[site];
    float kept = (float)weight; /* or the dead, totals minus live, would keep the rounding */

    HEAPPROF_ASSERT(counted->used);
    rb_heapprof_numbers_change(&sites->numbers, site);
    counted->live_samples++;
    counted->alloc_objects += kept;
    counted->alloc_bytes += (double)kept * (double)size_bytes;
}

void
rb_heapprof_sites_count_free(struct heapprof_sites *sites, uint32_t site)
{
    HEAPPROF_ASSERT(sites->all[site].used && sites->all[site].live_samples > 0);
    sites->all[site].live_samples--;
}

/* Apart from the rest, which so calls nothing and saves no register. */
__attribute__((noinline, cold)) static void
count_age_told(struct heapprof_sites *sites, uint32_t site, uint32_t birth_gc, uint32_t last_gc,
               double weight, size_t size_bytes)
{
    rb_heapprof_numbers_change(&sites->numbers, site);
    rb_heapprof_death_count(&sites->deaths[site], birth_gc, last_gc, weight, size_bytes);
}

static inline void
count_lifetime(struct heapprof_sites *sites, uint32_t site, uint32_t birth_gc, uint32_t last_gc,
               double weight, size_t size_bytes)
{
    if (!sites->lifetimes) return;
    if (sites->numbers.still)
        count_age_told(sites, site, birth_gc, last_gc, weight, size_bytes);
    else rb_heapprof_death_count(&sites->deaths[site], birth_gc, last_gc, weight, size_bytes);
}

/* Inline: of what has survived no GC, as most of the dead, the age is known. */
static inline void
count_past(struct heapprof_sites *sites, const struct heapprof_sample *sample, uint32_t last_gc)
{
    if (sites->object_sums.kept)
        rb_heapprof_sums_die(&sites->object_sums, sample->site, (double)sample->weight,
                             (double)sample->weight * sample->slot_bytes);
    count_lifetime(sites, sample->site, sample->birth_gc, last_gc, (double)sample->weight,
                   sample->birth_bytes);
}

void
rb_heapprof_sites_count_death(struct heapprof_sites *sites, const struct heapprof_sample *sample,
                              uint32_t last_gc)
{
    rb_heapprof_sites_count_free(sites, sample->site);
    if (sites->past) count_past(sites, sample, last_gc);
}

void
rb_heapprof_sites_count_young_death(struct heapprof_sites *sites,
                                    const struct heapprof_sample *sample)
{
    rb_heapprof_sites_count_free(sites, sample->site);
    if (sites->past) count_past(sites, sample, sample->birth_gc);
}

void
rb_heapprof_sites_count_retired(struct heapprof_sites *sites, const struct heapprof_piece *piece)
{
    rb_heapprof_sites_count_free(sites, piece->site);
    count_lifetime(sites, piece->site, piece->birth_gc, (uint32_t)piece->begin,
                   (double)piece->weight, piece->asked_bytes);
}

void
rb_heapprof_sites_reweigh(struct heapprof_sites *sites, uint32_t site, float from, float to,
                          size_t size_bytes)
{
    struct heapprof_site *counted = &sites->all[site];

    HEAPPROF_ASSERT(counted->used && counted->live_samples > 0);
    rb_heapprof_numbers_change(&sites->numbers, site);
    counted->alloc_objects += (double)to - (double)from;
    counted->alloc_bytes += (double)to * (double)size_bytes - (double)from * (double)size_bytes;
}

/* One sample at least counts 1 or more: less is what sums of doubles leave over. */
static bool
empty_p(const struct heapprof_sites *sites, uint32_t number)
{
    const struct heapprof_site *site = &sites->all[number];

    return site->used && !site->live_samples && site->alloc_objects < 0.5 &&
           rb_heapprof_sites_peak(sites, number).bytes < 0.5;
}

bool
rb_heapprof_sites_forget(struct heapprof_sites *sites, uint32_t site)
{
    if (!empty_p(sites, site)) return false;
    rb_heapprof_numbers_change(&sites->numbers, site);
    free_site(sites, site);
    return true;
}

uint32_t
rb_heapprof_sites_forget_empty(struct heapprof_sites *sites)
{
    uint32_t number, before = sites->numbers.count;

    for (number = 1; number < sites->numbers.end; number++) rb_heapprof_sites_forget(sites, number);
    return before - sites->numbers.count;
}

/* ---- merging ---- */

void
rb_heapprof_deaths_add(struct heapprof_deaths *deaths, const struct heapprof_deaths *more)
{
    for (int age = 0; age < HEAPPROF_COUNTED_AGES; age++) {
        deaths->of_age[age].objects += more->of_age[age].objects;
        deaths->of_age[age].bytes += more->of_age[age].bytes;
    }
}

static void
merge_site(struct heapprof_sites *sites, struct heapprof_site *site, uint32_t same)
{
    struct heapprof_site *sum = &sites->all[same];
    uint32_t number = (uint32_t)(site - sites->all);

    rb_heapprof_sums_merge(sums_of(sites, site), number, same,
                           site->live_samples > 0 || !rb_heapprof_site_of_blocks_p(site));
    if (sites->lifetimes) {
        rb_heapprof_deaths_add(&sites->deaths[same], &sites->deaths[number]);
        sites->deaths[number] = (struct heapprof_deaths){0};
    }
    sum->live_samples += site->live_samples;
    sum->alloc_objects += site->alloc_objects;
    sum->alloc_bytes += site->alloc_bytes;
    rb_heapprof_stacks_unhold(sites->stacks, site->stack);
    site->next_free = same;
}

uint32_t
rb_heapprof_sites_merge(struct heapprof_sites *sites,
                        uint32_t (*class_id)(const struct heapprof_site *site, void *data),
                        void *data, bool *alive)
{
    uint32_t number, merged = 0;

    *alive = false;
    sites->edition++;
    rb_heapprof_index_clear(&sites->index, sites->mem, sites->numbers.count);
    for (number = 1; number < sites->numbers.end; number++) {
        struct heapprof_site *site = &sites->all[number];
        if (!site->used) continue;
        site->class_id = class_id(site, data);
        site->stack = rb_heapprof_stacks_same(sites->stacks, site->stack);
        uint32_t same = find(sites, site);
        if (same == 0) {
            rb_heapprof_index_insert(&sites->index, hash_i(sites, number), number);
            continue;
        }
        if (site->live_samples > 0) *alive = true;
        merge_site(sites, site, same);
        merged++;
    }
    return merged;
}

bool
rb_heapprof_sites_relabel(struct heapprof_sites *sites, uint32_t number, uint32_t label)
{
    struct heapprof_site *site = &sites->all[number];

    sites->edition++;
    rb_heapprof_index_erase(&sites->index, number, hash_i, sites);
    rb_heapprof_numbers_change(&sites->numbers, number);
    rb_heapprof_site_set_label(site, label);
    uint32_t same = find(sites, site);
    if (same == 0) {
        rb_heapprof_index_insert(&sites->index, hash_i(sites, number), number);
        return false;
    }
    rb_heapprof_numbers_change(&sites->numbers, same);
    merge_site(sites, site, same);
    return true;
}

void
rb_heapprof_sites_end_merging(struct heapprof_sites *sites)
{
    for (uint32_t number = 1; number < sites->numbers.end; number++) {
        struct heapprof_site *site = &sites->all[number];
        if (!site->used || site->next_free == 0) continue;
        memset(site, 0, sizeof(*site));
        rb_heapprof_numbers_give_back(&sites->numbers, number, &site->next_free);
    }
}

/* ---- folding ---- */

/* Takes the labels of all sites without a live sample. Of sites that are equal then, one stays.
 * Returns how many go. */
static uint32_t
fold_labels(struct heapprof_sites *sites)
{
    uint32_t number, folded = 0;

    for (number = 1; number < sites->numbers.end; number++) {
        const struct heapprof_site *site = &sites->all[number];
        if (!site->used || site->live_samples || !rb_heapprof_site_label(site)) continue;
        if (rb_heapprof_sites_relabel(sites, number, 0)) folded++;
    }
    if (folded) rb_heapprof_sites_end_merging(sites);
    return folded;
}

static uint32_t
fold_sites(struct heapprof_sites *sites)
{
    uint32_t number, folded = 0;

    for (number = 1; number < sites->numbers.end; number++) {
        struct heapprof_site *site = &sites->all[number], *folds;
        if (!site->used || site->live_samples) continue;
        folds = rb_heapprof_site_of_blocks_p(site) ? &sites->folded_blocks : &sites->folded;
        folds->alloc_objects += site->alloc_objects;
        folds->alloc_bytes += site->alloc_bytes;
        if (sites->lifetimes)
            rb_heapprof_deaths_add(folds == &sites->folded ? &sites->folded_deaths
                                                           : &sites->folded_block_deaths,
                                   &sites->deaths[number]);
        free_site(sites, number);
        folded++;
    }
    return folded;
}

uint32_t
rb_heapprof_sites_fold(struct heapprof_sites *sites)
{
    uint32_t before = sites->numbers.count, folded = fold_labels(sites);

    if (folded <= before / 16) folded += fold_sites(sites);
    sites->folded_count += folded;
    return folded;
}

/* ---- the peak ---- */

static bool
of_objects_p(const struct heapprof_site *site)
{
    return site->used && !rb_heapprof_site_of_blocks_p(site);
}

double
rb_heapprof_sites_alive(const struct heapprof_sites *sites)
{
    size_t room = rb_heapprof_sums_room(&sites->object_sums);
    double bytes = sites->block_sums.bytes;

    for (uint32_t number = 1; number < sites->numbers.end && number < room; number++) {
        const struct heapprof_site *site = &sites->all[number];
        if (of_objects_p(site)) bytes += site->alloc_bytes + sites->object_sums.now[number].bytes;
    }
    return bytes;
}

void
rb_heapprof_sites_keep_peak(struct heapprof_sites *sites)
{
    struct heapprof_sums *objects = &sites->object_sums, *blocks = &sites->block_sums;
    size_t room = rb_heapprof_sums_room(objects);

    for (uint32_t number = 1; number < sites->numbers.end && number < room; number++) {
        const struct heapprof_site *site = &sites->all[number];
        if (!of_objects_p(site)) continue;
        objects->peak[number].objects = site->alloc_objects + objects->now[number].objects;
        objects->peak[number].bytes = site->alloc_bytes + objects->now[number].bytes;
    }
    room = rb_heapprof_sums_room(blocks);
    if (room > 0) memcpy(blocks->peak, blocks->now, room * sizeof(*blocks->now));
    objects->gone = blocks->gone = (struct heapprof_sum){0, 0};
}

/* ---- thinning ---- */

void
rb_heapprof_sites_scale(struct heapprof_sites *sites, uint32_t number, double factor)
{
    struct heapprof_site *site = &sites->all[number];

    site->alloc_objects *= factor;
    site->alloc_bytes *= factor;
    rb_heapprof_sums_scale(sums_of(sites, site), number, factor);
    for (int age = 0; sites->lifetimes && age < HEAPPROF_COUNTED_AGES; age++) {
        sites->deaths[number].of_age[age].objects *= factor;
        sites->deaths[number].of_age[age].bytes *= factor;
    }
}

/* ---- debug ---- */

static uint32_t
link_i(const void *owner, uint32_t number)
{
    const struct heapprof_site *site = rb_heapprof_sites_get(owner, number);

    return site->used ? HEAPPROF_NUMBER_USED : site->next_free;
}

static void
check_site(const struct heapprof_sites *sites, uint32_t number)
{
    const struct heapprof_site *site = &sites->all[number];
    uint32_t stack = site->stack;

    HEAPPROF_ASSERT(find(sites, site) == number && site->next_free == 0);
    HEAPPROF_ASSERT(!stack || rb_heapprof_stacks_node(sites->stacks, stack)->holds > 0);
    HEAPPROF_ASSERT(site->alloc_objects >= site->live_samples);
    HEAPPROF_ASSERT(!sites->lifetimes || number < sites->deaths_capacity);
    for (int age = 0; sites->lifetimes && age < HEAPPROF_COUNTED_AGES; age++) {
        double bytes = sites->deaths[number].of_age[age].bytes;
        HEAPPROF_ASSERT(bytes <= site->alloc_bytes * 1.000001 + 1);
    }
}

void
rb_heapprof_sites_check(const struct heapprof_sites *sites)
{
    uint32_t number;

    for (number = 1; number < sites->numbers.end; number++) {
        if (sites->all[number].used) check_site(sites, number);
    }
    rb_heapprof_numbers_check(&sites->numbers, link_i, sites);
    rb_heapprof_index_check(&sites->index, sites->numbers.count, hash_i, sites);
}
