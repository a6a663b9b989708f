#ifndef HEAPPROF_SAMPLER_H
#define HEAPPROF_SAMPLER_H
/* Decides which allocations are sampled, and what each sample stands for.
 *
 * Bytes are sampled as a Poisson process of one point every interval_bytes on
 * average. An object of S bytes is sampled when at least one point falls into it:
 *
 *     p(S) = 1 - exp(-S / R)         R = interval_bytes
 *
 * and then stands for 1 / p(S) objects (Horvitz and Thompson 1952). So sums of weights are
 * unbiased whatever the sizes. The gap to the next point is exponential with mean R, hence
 * memoryless: it may be thrown away and drawn again at any moment, as long as that does not
 * depend on where the point fell. For a run of slots of one size, the gap counted in whole
 * slots is geometric. doc/design/estimator.md has the whole law.
 *
 * An interval of 1 byte or less samples everything, exactly: no gap, weight 1.
 */
#include <stdint.h>
#include <stddef.h>

struct heapprof_sampler {
    uint64_t state[4];       /* xoshiro256++ (Blackman and Vigna 2019) */
    uint64_t interval_bytes; /* R */
};

/* Any seed is good, 0 included: splitmix64 fills the state from it. */
void rb_heapprof_sampler_init(struct heapprof_sampler *sampler, uint64_t interval_bytes,
                              uint64_t seed);

/* Uniform in (0, 1]. Advances the state. */
double rb_heapprof_sampler_uniform(struct heapprof_sampler *sampler);

/* Bytes until the next point: exponential with mean interval_bytes, 0 at interval 1.
 * Advances the state, as skip_slots does: each draw is independent of all before. */
double rb_heapprof_sampler_gap_bytes(struct heapprof_sampler *sampler);

/* How many slots of slot_bytes (not 0) to pass over before the next sampled one. */
uint64_t rb_heapprof_sampler_skip_slots(struct heapprof_sampler *sampler, size_t slot_bytes);

/* 1 / p(size_bytes), at least 1; exactly 1 at interval 1. size_bytes is not 0. */
double rb_heapprof_sampler_weight(uint64_t interval_bytes, size_t size_bytes);

#endif
