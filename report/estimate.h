#ifndef HEAPPROF_REPORT_ESTIMATE_H
#define HEAPPROF_REPORT_ESTIMATE_H
/* How far a value of a sampled heap profile may be from the truth.
 *
 * Bytes are sampled every R on average, so a thing of S bytes is a sample with p = 1 - exp(-S/R), and
 * what stands for N of them has the variance N (1-p)/p (doc/design/estimator.md). Variances of samples add
 * up. Ours is in the file for what is in use (inuse_variance, in bytes squared): exact sums of
 * S^2 w (w-1), right whatever the interval was at each time. For all else it is reckoned from sizes and
 * the interval: of N objects S is bytes / N; of blocks, whose sizes the file does not have, the variance
 * is at most R times the bytes. */
#include <stdbool.h>
#include <stdint.h>

#include "pprof/model.h"

struct report_estimate {
    const struct heapprof_model *model;
    bool     known;            /* it is a sampled heap, and the value one of its own */
    uint32_t value;            /* which of the values is asked about */
    uint32_t objects, space;   /* the values that belong to it; type_count: there are none */
    uint32_t variance;         /* of space; type_count: not in the file */
    double   interval, malloc_interval;
};

/* Collects what the model says about the errors of that value. */
void report_estimate_init(struct report_estimate *estimate, const struct heapprof_model *model, uint32_t value);

/* Returns the variance of a sample's value, in its unit squared, or 0 if it is not known. */
double report_estimate_variance(const struct report_estimate *estimate, const int64_t *values);

#endif
