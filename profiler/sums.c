/* sums.c - sums of what is alive, by site (sums.h). Allocates nothing. */
#include "profiler/sums.h"

#include <string.h>

void
rb_heapprof_sums_release(struct heapprof_sums *sums, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, sums->now, sums->now_capacity);
    HEAPPROF_MEM_RELEASE(mem, sums->peak, sums->peak_capacity);
    memset(sums, 0, sizeof(*sums));
}

static void
add(struct heapprof_sum *sum, const struct heapprof_sum *more)
{
    sum->objects += more->objects;
    sum->bytes += more->bytes;
}

static void
clear(struct heapprof_sums *sums, uint32_t site)
{
    sums->now[site] = sums->peak[site] = (struct heapprof_sum){0, 0};
}

void
rb_heapprof_sums_merge(struct heapprof_sums *sums, uint32_t site, uint32_t into, bool now)
{
    size_t room = rb_heapprof_sums_room(sums);

    if (site >= room) return;
    if (now && into < room) add(&sums->now[into], &sums->now[site]);
    add(into < room ? &sums->peak[into] : &sums->gone, &sums->peak[site]);
    clear(sums, site);
}

void
rb_heapprof_sums_forget(struct heapprof_sums *sums, uint32_t site)
{
    if (site >= rb_heapprof_sums_room(sums)) return;
    add(&sums->gone, &sums->peak[site]);
    clear(sums, site);
}

static void
scale(struct heapprof_sum *sum, double factor)
{
    sum->objects *= factor;
    sum->bytes *= factor;
}

void
rb_heapprof_sums_scale(struct heapprof_sums *sums, uint32_t site, double factor)
{
    if (site >= rb_heapprof_sums_room(sums)) return;
    scale(&sums->now[site], factor);
    scale(&sums->peak[site], factor);
}
