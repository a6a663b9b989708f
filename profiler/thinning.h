#ifndef HEAPPROF_THINNING_H
#define HEAPPROF_THINNING_H
/* Makes the samples there are as few as a larger interval would have taken, and let each stand for
 * as much more: every estimate stays without bias, as if that interval had been there from the
 * start (thinning.c). */
#include "profiler/sampler.h"
#include "profiler/tables.h"

/* Some of a table's entries, by number. */
struct heapprof_stretch {
    uint32_t next, end;              /* the same: none */
};

struct heapprof_thinning {
    uint64_t interval_bytes;         /* of objects, larger than it was */
    uint64_t malloc_interval_bytes;  /* of blocks; 0: they are not sampled */
    struct heapprof_sampler *sampler; /* whose random numbers decide; its interval does not matter */
    uint32_t *(*page_head)(uintptr_t address); /* the chain of an object's page */
    void (*forget)(uintptr_t address);         /* told of each object that is a sample no more */
    struct heapprof_stretch objects, blocks;   /* to be thinned by steps */
};

/* How often the two intervals, as they are now, have to double until about half of the samples of
 * the full tables (tables.h) will be left; 0: there are none, or an interval would exceed
 * HEAPPROF_INTERVAL_MAX. */
unsigned int rb_heapprof_thinning_doublings(const struct heapprof_tables *tables,
                                            const struct heapprof_thinning *now, unsigned int full);

/* All that there is now is to be thinned, by steps. */
void rb_heapprof_thinning_begin(struct heapprof_thinning *thinning, const struct heapprof_tables *tables);

/* Whether steps have anything left to thin of objects, of blocks (HEAPPROF_FULL_OBJECTS, _BLOCKS, or both). */
static inline bool
rb_heapprof_thinning_left_p(const struct heapprof_thinning *thinning, unsigned int of)
{
    return (of & HEAPPROF_FULL_OBJECTS && thinning->objects.next < thinning->objects.end) ||
           (of & HEAPPROF_FULL_BLOCKS && thinning->blocks.next < thinning->blocks.end);
}

/* Thins the next entries of these, so many at most of each, and frees the sites that leaves without anything:
 * returns whether there were any. Copies may be under way (copies.h). Asks for no memory. */
bool rb_heapprof_thinning_step(struct heapprof_tables *tables, struct heapprof_thinning *thinning, unsigned int of,
                               uint32_t count);

/* Thins all that there is at once, or what steps have left, packs the live table, and frees the sites that leaves without
 * anything. Nodes and what they name stay until a trim. Asks for no memory. */
void rb_heapprof_thin(struct heapprof_tables *tables, struct heapprof_thinning *thinning);

/* Gives up half or more of the sites that nothing is alive of, if those are a sixteenth of all, and has
 * others of them stand for what they had allocated: sums over any group of sites stay without bias.
 * Returns how many it freed. Asks for no memory. */
uint32_t rb_heapprof_thin_dead(struct heapprof_tables *tables, struct heapprof_sampler *sampler);

#endif
