#ifndef HEAPPROF_COMBINE_H
#define HEAPPROF_COMBINE_H
/* Sums of profiles, each with a sign: merge is a sum, a difference one with a minus. Like goes
 * with like by content: functions by name, file and first line, samples by stack and labels.
 * Values go by the name and unit of their type, which have to be the same in all. What adds up
 * to nothing is left out. */
#include "pprof/model.h"

#define HEAPPROF_COMBINE_ERROR_MAX 256

/* Adds up signs[i] * models[i] for count models, at least 1. A sign is 1 or -1. Types, period
 * and comments are those of the first, and comments of the rest follow. The time is the
 * earliest, the duration the sum. Returns NULL with one line in error that says why, in which
 * names are used. */
struct heapprof_model *rb_heapprof_combine(const struct heapprof_model *const *models, const int *signs,
                                           const char *const *names, size_t count,
                                           char error[HEAPPROF_COMBINE_ERROR_MAX]);

#endif
