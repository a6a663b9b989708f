#ifndef HEAPPROF_THINNING_H
#define HEAPPROF_THINNING_H
/* Makes the samples there are as few as a larger interval would have taken, and let each stand for
 * as much more: every estimate stays without bias, as if that interval had been there from the
 * start (thinning.c). */
#include "profiler/sampler.h"
#include "profiler/tables.h"

struct heapprof_thinning {
    uint64_t interval_bytes;         /* of objects, larger than it was */
    uint64_t malloc_interval_bytes;  /* of blocks; 0: they are not sampled */
    struct heapprof_sampler *sampler; /* whose random numbers decide; its interval does not matter */
    uint32_t *(*page_head)(uintptr_t address); /* the chain of an object's page */
    void (*forget)(uintptr_t address);         /* told of each object that is a sample no more */
};

/* How often the two intervals, as they are now, have to double until about half of the samples of
 * the full tables (tables.h) will be left; 0: there are none, or an interval would exceed
 * HEAPPROF_INTERVAL_MAX. */
unsigned int rb_heapprof_thinning_doublings(const struct heapprof_tables *tables,
                                            const struct heapprof_thinning *now, unsigned int full);

/* Thins objects and blocks, and frees the sites that leaves without anything. Nodes and what they name stay until a trim. Asks for no memory. */
void rb_heapprof_thin(struct heapprof_tables *tables, const struct heapprof_thinning *thinning);

/* Gives up half or more of the sites that nothing is alive of, if those are a sixteenth of all, and has
 * others of them stand for what they had allocated: sums over any group of sites stay without bias.
 * Returns how many it freed. Asks for no memory. */
uint32_t rb_heapprof_thin_dead(struct heapprof_tables *tables, struct heapprof_sampler *sampler);

#endif
