#ifndef HEAPPROF_THINNING_H
#define HEAPPROF_THINNING_H
/* Thinning: keeps only as many of the samples as a larger interval would have taken, and lets
 * each stand for more. Every estimate stays unbiased, as if that interval had been there from
 * the start. thinning.c has the proof. */
#include "profiler/sampler.h"
#include "profiler/tables.h"

/* Some of a table's entries, from next to end - 1. Empty if both are equal. */
struct heapprof_stretch {
    uint32_t next, end;
};

struct heapprof_thinning {
    uint64_t interval_bytes;         /* the larger interval of objects */
    uint64_t malloc_interval_bytes;  /* the larger interval of blocks; 0: they are not sampled */
    struct heapprof_sampler
        *sampler; /* whose random numbers decide; its interval does not matter */
    uint32_t *(*page_head)(uintptr_t address); /* the chain of an object's page */
    void (*forget)(uintptr_t address); /* called for each object that stops being a sample */
    struct heapprof_stretch objects, blocks;   /* what steps have left to thin */
};

/* How often the two intervals of now have to double so that about half of the samples of the
 * full tables (tables.h) will be left. Returns 0 if there are no samples, or if an interval
 * would exceed HEAPPROF_INTERVAL_MAX. */
unsigned int rb_heapprof_thinning_doublings(const struct heapprof_tables *tables,
                                            const struct heapprof_thinning *now, unsigned int full);

/* Begins thinning by steps: all samples of this moment are to be thinned. */
void rb_heapprof_thinning_begin(struct heapprof_thinning *thinning,
                                const struct heapprof_tables *tables);

/* Whether steps have anything left to thin. `of` is HEAPPROF_FULL_OBJECTS, HEAPPROF_FULL_BLOCKS
 * or both. */
static inline bool
rb_heapprof_thinning_left_p(const struct heapprof_thinning *thinning, unsigned int of)
{
    return (of & HEAPPROF_FULL_OBJECTS && thinning->objects.next < thinning->objects.end) ||
           (of & HEAPPROF_FULL_BLOCKS && thinning->blocks.next < thinning->blocks.end);
}

/* Thins the next entries of objects, of blocks, or both, at most count of each. Frees the sites
 * that this leaves empty. Returns whether it freed any. Copies may be under way (copies.h).
 * Asks for no memory. */
bool rb_heapprof_thinning_step(struct heapprof_tables *tables, struct heapprof_thinning *thinning,
                               unsigned int of, uint32_t count);

/* Thins all samples at once. Packs the live table, and frees the sites that this leaves empty.
 * Nodes and what they name stay until a trim. Asks for no memory. */
void rb_heapprof_thin(struct heapprof_tables *tables, struct heapprof_thinning *thinning);

/* Thins the sites without a live sample, if they are at least a sixteenth of all. Half of them
 * or more go, and the rest stands for what these had allocated. Sums over any group of sites
 * stay unbiased. Returns how many it freed. Asks for no memory. */
uint32_t rb_heapprof_thin_dead(struct heapprof_tables *tables, struct heapprof_sampler *sampler);

#endif
