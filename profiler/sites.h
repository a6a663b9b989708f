#ifndef HEAPPROF_SITES_H
#define HEAPPROF_SITES_H
/* Allocation sites: a stack and the class of what it allocates, or a stack and the C function
 * that asks the allocator there, and the labels of the program at that moment; with running
 * totals. A site holds its stack. With memcheck, a site of blocks also has the C functions behind
 * the one that asks (tables.h: c_paths).
 *
 * The totals must outlive the site's last live sample, or alloc_* would shrink. So a site
 * without live samples stays until one of these happens:
 *   - its code is dead and another site looks the same: they are merged (dead_code.h);
 *   - memory is needed: other sites stand for it (thinning.h);
 *   - the system has no memory: it is folded. Its totals go to the site without labels; or to the
 *     site of the empty stack, and those of blocks to a second such site.
 *
 * If a run asks for it, each site also has how old its dead were (deaths), and what of it is alive
 * and was alive at the peak (sums.h). */
#include "base/numbers.h"
#include "profiler/blocks.h"
#include "profiler/live_table.h"
#include "profiler/stacks.h"
#include "profiler/sums.h"

/* A bit of a site's class_id: the site is of blocks, and its identity is the caller's. */
#define HEAPPROF_SITE_OF_BLOCKS (UINT32_C(1) << 31)

/* What a site is told of labels: a string, and in the bits above it who names them late. */
#define HEAPPROF_LABEL_BITS 24
#define HEAPPROF_LABEL_LATE(number) ((uint32_t)(number) << HEAPPROF_LABEL_BITS)
#define HEAPPROF_LABEL_STRINGS (UINT32_C(1) << HEAPPROF_LABEL_BITS)

struct heapprof_site {
    uint32_t stack;
    uint32_t class_id;      /* an identity, and perhaps HEAPPROF_SITE_OF_BLOCKS */
    uint32_t live_samples;  /* objects in the live table, or pieces of blocks */
    uint32_t next_free;     /* link of a free site. In use: 0, except while sites are merged */
    double   alloc_objects; /* weighted, since start; for blocks: requests */
    double   alloc_bytes;
    uint32_t label : HEAPPROF_LABEL_BITS; /* string: the text of a set of labels (label_sets.h);
                                             0: none */
    uint32_t late : 32 - HEAPPROF_LABEL_BITS; /* the labels wait for a name (late_sites.h) */
    uint32_t c_path : 31;   /* in c_paths: the callers of the C function that asks; 0: none known */
    uint32_t used : 1;
};

/* How many GCs the dead have survived: none, 1, 2 to 3, 4 or more. What belongs to the last of
 * these is what has died minus the rest, so it is not counted. */
enum { HEAPPROF_DEATH_AGES = 4, HEAPPROF_COUNTED_AGES = HEAPPROF_DEATH_AGES - 1 };

struct heapprof_deaths {
    struct heapprof_sum of_age[HEAPPROF_COUNTED_AGES]; /* weighted, with their sizes at birth */
};

struct heapprof_sites {
    struct heapprof_stacks *stacks;
    struct heapprof_mem *mem;
    struct heapprof_site *all;  /* by number; [0] unused */
    struct heapprof_numbers numbers;
    struct heapprof_index index; /* (stack, class_id, label, c_path) -> site */
    struct heapprof_site folded; /* totals of folded sites; stack 0, class 0 */
    struct heapprof_site folded_blocks; /* the same for sites of blocks */
    uint64_t  folded_count;      /* sites folded since start */
    uint64_t  edition; /* grows when a number stands for another site, or for none, from now on */
    bool      past;              /* deaths or sums are kept; set before the first site */
    bool      lifetimes;         /* deaths are counted */
    struct heapprof_deaths *deaths; /* by number */
    size_t    deaths_capacity;
    struct heapprof_deaths folded_deaths, folded_block_deaths;
    struct heapprof_sums object_sums; /* of sites of objects: what is dead */
    struct heapprof_sums block_sums; /* of sites of blocks. Under the blocks' lock, but the peak */
};

/* An empty table; allocates nothing. mem and stacks must outlive it. */
void rb_heapprof_sites_init(struct heapprof_sites *sites, struct heapprof_mem *mem,
                            struct heapprof_stacks *stacks);

/* Gives the memory back; the table is then as after init. The stacks keep the holds of its
 * sites, so the caller frees the stacks, too. */
void rb_heapprof_sites_free(struct heapprof_sites *sites);

/* The number of that site, which is added if it is new. Returns 0 if memory is refused. Good
 * until the next fold, or for as long as the site has a live sample. */
uint32_t rb_heapprof_sites_intern(struct heapprof_sites *sites, uint32_t stack, uint32_t class_id,
                                  uint32_t label);

/* The same for a site whose C function was called along that path. */
uint32_t rb_heapprof_sites_intern_called(struct heapprof_sites *sites, uint32_t stack,
                                         uint32_t class_id, uint32_t label, uint32_t c_path);

/* Counts a new sample, which stands for weight objects of size_bytes each; count_free, one that is
 * a sample no more. The weight counts rounded to float, as a sample keeps it (live_table.h). */
void rb_heapprof_sites_count_alloc(struct heapprof_sites *sites, uint32_t site, double weight,
                                   size_t size_bytes);
void rb_heapprof_sites_count_free(struct heapprof_sites *sites, uint32_t site);

/* The place of an age at death, given in GCs that were survived. */
static inline unsigned int
rb_heapprof_death_age(uint32_t survived)
{
    return survived < 2 ? survived : survived < 4 ? 2 : HEAPPROF_DEATH_AGES - 1;
}

/* Counts how old a sample was when it died. It was born at that GC, and last_gc is the last GC that
 * it has survived: what was born after that has survived none. size_bytes is its size at birth. */
static inline void
rb_heapprof_death_count(struct heapprof_deaths *deaths, uint32_t birth_gc, uint32_t last_gc,
                        double weight, size_t size_bytes)
{
    int32_t survived = (int32_t)(last_gc - birth_gc);
    unsigned int age = survived <= 0 ? 0 : rb_heapprof_death_age((uint32_t)survived);

    if (age == HEAPPROF_COUNTED_AGES) return;
    deaths->of_age[age].objects += weight;
    deaths->of_age[age].bytes += weight * (double)size_bytes;
}

/* Counts an object that has died, and a piece that was retired. */
void rb_heapprof_sites_count_death(struct heapprof_sites *sites,
                                   const struct heapprof_sample *sample, uint32_t last_gc);
/* The same for one that has survived no GC. */
void rb_heapprof_sites_count_young_death(struct heapprof_sites *sites,
                                         const struct heapprof_sample *sample);
void rb_heapprof_sites_count_retired(struct heapprof_sites *sites,
                                     const struct heapprof_piece *piece);

/* The weight of a live sample of size_bytes changes. The totals follow, so that totals minus
 * live samples stay what is dead. If `to` is 0 it stops being a sample, and the caller calls
 * count_free. */
void rb_heapprof_sites_reweigh(struct heapprof_sites *sites, uint32_t site, float from, float to,
                               size_t size_bytes);

/* Frees the site if it has nothing alive, nothing dead, and nothing in the peak. Returns whether it
 * did. */
bool rb_heapprof_sites_forget(struct heapprof_sites *sites, uint32_t site);

/* Frees every site that has nothing alive and nothing dead, since all its samples were given
 * up, and nothing in the peak. Returns how many. */
uint32_t rb_heapprof_sites_forget_empty(struct heapprof_sites *sites);

/* Folds what has no live sample. First labels go: a site counts for the one of the same stack and
 * class that has no labels. If that frees at most a sixteenth of all sites, every site without a
 * live sample goes, and lets go of its stack. Returns how many it freed. */
uint32_t rb_heapprof_sites_fold(struct heapprof_sites *sites);

/* ---- merging, while stacks are merged (stacks.h) ---- */

/* Gives each site the stack that stands for its own, and the class that class_id returns. Of
 * sites that are equal then, the first stands for the rest, which are in no index. Sets *alive
 * to whether some of the rest have live samples. Returns how many they are. Allocates nothing. */
uint32_t rb_heapprof_sites_merge(struct heapprof_sites *sites,
                                 uint32_t (*class_id)(const struct heapprof_site *site, void *data),
                                 void *data, bool *alive);

/* The site that stands for it. */
static inline uint32_t
rb_heapprof_sites_same(const struct heapprof_sites *sites, uint32_t site)
{
    return sites->all[site].next_free ? sites->all[site].next_free : site;
}

/* Gives a site other labels, as intern is told them. Returns whether another site is equal then:
 * that stands for it, and this one is in no index. */
bool rb_heapprof_sites_relabel(struct heapprof_sites *sites, uint32_t number, uint32_t label);

/* Frees the sites that another one stands for. Nothing may name them any more. */
void rb_heapprof_sites_end_merging(struct heapprof_sites *sites);

static inline bool
rb_heapprof_site_of_blocks_p(const struct heapprof_site *site)
{
    return site->class_id & HEAPPROF_SITE_OF_BLOCKS;
}

/* The class, or the caller. */
static inline uint32_t
rb_heapprof_site_identity(const struct heapprof_site *site)
{
    return site->class_id & ~HEAPPROF_SITE_OF_BLOCKS;
}

/* Both ways: what intern is told of labels, and how a site has it. */
static inline void
rb_heapprof_site_set_label(struct heapprof_site *site, uint32_t label)
{
    site->label = label & (HEAPPROF_LABEL_STRINGS - 1);
    site->late = (label >> HEAPPROF_LABEL_BITS) & UINT8_MAX;
}

static inline uint32_t
rb_heapprof_site_label(const struct heapprof_site *site)
{
    return site->label | HEAPPROF_LABEL_LATE(site->late);
}

/* A site in use; good until the next intern. */
static inline const struct heapprof_site *
rb_heapprof_sites_get(const struct heapprof_sites *sites, uint32_t number)
{
    return &sites->all[number];
}

/* The sums of a site of that kind. */
static inline struct heapprof_sums *
rb_heapprof_sites_sums(struct heapprof_sites *sites, bool of_blocks)
{
    return of_blocks ? &sites->block_sums : &sites->object_sums;
}

/* What a site had at the peak. */
static inline struct heapprof_sum
rb_heapprof_sites_peak(const struct heapprof_sites *sites, uint32_t number)
{
    bool of_blocks = rb_heapprof_site_of_blocks_p(&sites->all[number]);
    return rb_heapprof_sums_peak(of_blocks ? &sites->block_sums : &sites->object_sums, number);
}

/* The bytes that are alive of all sites, if sums are kept. In time in proportion to the sites. */
double rb_heapprof_sites_alive(const struct heapprof_sites *sites);

/* What is alive of each site becomes what was alive at the peak. Under the blocks' lock. */
void rb_heapprof_sites_keep_peak(struct heapprof_sites *sites);

/* A site without a live sample stands for that many times what it had. */
void rb_heapprof_sites_scale(struct heapprof_sites *sites, uint32_t number, double factor);

/* Adds deaths up. */
void rb_heapprof_deaths_add(struct heapprof_deaths *deaths, const struct heapprof_deaths *more);

/* Asserts the invariants of sites.c. */
void rb_heapprof_sites_check(const struct heapprof_sites *sites);

#endif
