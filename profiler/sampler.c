/* sampler.c - where the next sample falls, and what a sample stands for.
 *
 * The points are drawn from the left; each gap is -R ln(u), u uniform in (0, 1]:
 *
 *     bytes    |....x.............x...x.....................x....
 *              |<gap>|<--- gap -->|gap|<------- gap -------->|
 *     slots    |   |   |   |   |   |   |   |   |   |   |   |   |
 *     sampled    no  *   no  no  *   *   no  no  no  no  no  *
 *
 * After a sample the next gap counts from the end of the sampled slot, not from the point in
 * it. Both have the same law, because gaps are memoryless. So no slot is taken twice. The
 * number of whole slots of S bytes that fit into a gap is
 *
 *     k = floor(gap / S)      P(k >= n) = P(gap >= n S) = exp(-S / R)^n
 *
 * which is geometric. The slot behind them is the sampled one. So each slot is sampled with
 * p = 1 - exp(-S/R), independently of all others.
 *
 *     S \ R      4 KiB      512 KiB     weight = 1/p, to three digits
 *     40 B       103        13100
 *     640 B      6.91       820
 *     1 MiB      1          1.16
 *
 * p and the weight go through expm1. It keeps all digits if S is much smaller than R, where
 * 1 - exp(-S/R) would cancel.
 *
 * Owns nothing. The caller has the state, one for each independent stream. Allocates nothing,
 * and may run anywhere. Only one thread at a time may use one state.
 */
#include "profiler/sampler.h"

#include <math.h>

#include "base/check.h"

#define SKIP_MAX (UINT64_C(1) << 62) /* never reached by counting; far from overflow */

/* ---- random bits ---- */

static uint64_t
splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t
rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t
next_bits(uint64_t state[4])
{
    uint64_t bits = rotate_left(state[0] + state[3], 23) + state[0];
    uint64_t carried = state[1] << 17;

    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= carried;
    state[3] = rotate_left(state[3], 45);
    return bits;
}

/* Never 0, whose logarithm is not finite. */
double
rb_heapprof_sampler_uniform(struct heapprof_sampler *sampler)
{
    return (double)((next_bits(sampler->state) >> 11) + 1) * 0x1p-53;
}

/* ---- sampling ---- */

void
rb_heapprof_sampler_init(struct heapprof_sampler *sampler, uint64_t interval_bytes, uint64_t seed)
{
    int i;

    for (i = 0; i < 4; i++) sampler->state[i] = splitmix64(&seed);
    sampler->interval_bytes = interval_bytes;
}

double
rb_heapprof_sampler_gap_bytes(struct heapprof_sampler *sampler)
{
    if (sampler->interval_bytes <= 1) return 0.0;
    return -log(rb_heapprof_sampler_uniform(sampler)) * (double)sampler->interval_bytes;
}

uint64_t
rb_heapprof_sampler_skip_slots(struct heapprof_sampler *sampler, size_t slot_bytes)
{
    double slots;

    HEAPPROF_ASSERT(slot_bytes > 0);
    slots = rb_heapprof_sampler_gap_bytes(sampler) / (double)slot_bytes;
    return slots < (double)SKIP_MAX ? (uint64_t)slots : SKIP_MAX;
}

double
rb_heapprof_sampler_weight(uint64_t interval_bytes, size_t size_bytes)
{
    HEAPPROF_ASSERT(size_bytes > 0);
    if (interval_bytes <= 1) return 1.0;
    return -1.0 / expm1(-(double)size_bytes / (double)interval_bytes);
}
