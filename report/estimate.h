#ifndef HEAPPROF_REPORT_ESTIMATE_H
#define HEAPPROF_REPORT_ESTIMATE_H
/* How far a value of a sampled heap profile may be from the truth.
 *
 * One byte in R is sampled on average. So a thing of S bytes is sampled with the probability p =
 * 1 - exp(-S/R). A sample that stands for N things has the variance N (1-p)/p
 * (doc/design/estimator.md). Variances of samples add up.
 *
 * For memory in use, the file has the variance (inuse_variance, in bytes squared). It is the
 * exact sum of S^2 w (w-1), and it is right even if the interval changed. For other values the
 * variance is computed from sizes and the interval. For N objects, S is bytes / N. For blocks the
 * file has no sizes: their variance is at most R times the bytes. */
#include <stdbool.h>
#include <stdint.h>

#include "pprof/model.h"

struct report_estimate {
    const struct heapprof_model *model;
    bool     known;            /* the profile is a sampled heap, and the value is one of its own */
    uint32_t value;            /* the type that the question names */
    uint32_t objects,
        space;         /* the types that belong to it; type_count: the file has no such type */
    uint32_t variance; /* the type that is the variance of space; type_count: not in the file */
    double   interval, malloc_interval;
};

/* Collects what the model says about the errors of that value. */
void report_estimate_init(struct report_estimate *estimate, const struct heapprof_model *model,
                          uint32_t value);

/* Returns the variance of a sample's value, in its unit squared, or 0 if it is not known. */
double report_estimate_variance(const struct report_estimate *estimate, const int64_t *values);

#endif
