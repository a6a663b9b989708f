#ifndef HEAPPROF_COMBINE_H
#define HEAPPROF_COMBINE_H
/* Sums of profiles, each with a sign: merge is a sum, a difference one with a minus. Like goes
 * with like by content: functions by name, file and first line, samples by stack and labels.
 * Values go by the name and unit of their type, which have to be the same in all. What adds up
 * to nothing is left out. */
#include "pprof/model.h"

#define HEAPPROF_COMBINE_ERROR_MAX 256

/* sum of signs[i] * models[i], count of them, at least 1; a sign is 1 or -1. Types, period and
 * comments are the first's, with what the others say besides; the time is the earliest, the
 * duration the sum. names are for error, where it says in a line why there is no result (NULL). */
struct heapprof_model *rb_heapprof_combine(const struct heapprof_model *const *models, const int *signs,
                                           const char *const *names, size_t count,
                                           char error[HEAPPROF_COMBINE_ERROR_MAX]);

#endif
