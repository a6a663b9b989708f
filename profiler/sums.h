#ifndef HEAPPROF_SUMS_H
#define HEAPPROF_SUMS_H
/* What is alive of each site, kept up with every sample; and what was alive at the peak, which is a
 * copy of that.
 *
 *     site       1        2        3
 *     now      120 kB     -       3 kB      changes with each sample
 *     peak      90 kB   40 kB     3 kB      what now was at the peak
 *
 * There are two of these: for the sites of blocks, and for those of objects. The totals of a site
 * of objects (sites.h) are added to its `now`, which so is below 0: it has what is dead. A new
 * object then changes only the totals.
 *
 *   I1  Both arrays have room for the same sites. So a peak needs no memory when it comes.
 *
 * The caller serialises. Only reserve allocates (mem.c). */
#include "base/mem.h"

struct heapprof_sum {
    double objects;
    double bytes;
};

struct heapprof_sums {
    bool kept;                   /* false: nothing is summed up, and there are no arrays */
    struct heapprof_sum *now;    /* by site */
    size_t now_capacity;
    struct heapprof_sum *peak;   /* by site */
    size_t peak_capacity;
    double bytes;                /* of blocks: all of now; of objects: not kept up */
    struct heapprof_sum gone;    /* of the peak: what sites had that are no more */
};

/* Makes room for that site, if sums are kept. Returns false if memory is refused. */
static inline bool
rb_heapprof_sums_reserve(struct heapprof_sums *sums, struct heapprof_mem *mem, uint32_t site)
{
    return !sums->kept ||
           (HEAPPROF_MEM_GROW(mem, sums->peak, sums->peak_capacity, (size_t)site + 1) &&
            HEAPPROF_MEM_GROW(mem, sums->now, sums->now_capacity, (size_t)site + 1));
}

void rb_heapprof_sums_release(struct heapprof_sums *sums, struct heapprof_mem *mem);

/* So much more of the site is alive, or less. Sums are kept, and there is room for the site. */
static inline void
rb_heapprof_sums_change(struct heapprof_sums *sums, uint32_t site, double objects, double bytes)
{
    sums->now[site].objects += objects;
    sums->now[site].bytes += bytes;
}

/* So much of the site has died. */
static inline void
rb_heapprof_sums_die(struct heapprof_sums *sums, uint32_t site, double objects, double bytes)
{
    sums->now[site].objects -= objects;
    sums->now[site].bytes -= bytes;
}

/* How many sites have room in both arrays: one of them may have been refused. */
static inline size_t
rb_heapprof_sums_room(const struct heapprof_sums *sums)
{
    return sums->now_capacity < sums->peak_capacity ? sums->now_capacity : sums->peak_capacity;
}

/* What the site had at the peak. */
static inline struct heapprof_sum
rb_heapprof_sums_peak(const struct heapprof_sums *sums, uint32_t site)
{
    return site < sums->peak_capacity ? sums->peak[site] : (struct heapprof_sum){0, 0};
}

/* What the site had at the peak is that of another site from now on. now: so is what it has now. */
void rb_heapprof_sums_merge(struct heapprof_sums *sums, uint32_t site, uint32_t into, bool now);

/* Nothing of the site is alive, and its number will be another site's. */
void rb_heapprof_sums_forget(struct heapprof_sums *sums, uint32_t site);

/* The site stands for that many times what it had. Nothing of it is alive. */
void rb_heapprof_sums_scale(struct heapprof_sums *sums, uint32_t site, double factor);

#endif
