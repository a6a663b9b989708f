#ifndef HEAPPROF_COMBINE_H
#define HEAPPROF_COMBINE_H
/* Sums of profiles, each with a sign. merge is a sum. A difference is a sum with a minus.
 * Things are matched by content: functions by name, file and first line, samples by stack and
 * labels. Values are matched by the name and unit of their type, which have to be the same in
 * all profiles. A sample whose values are all 0 is left out. */
#include "pprof/model.h"

#define HEAPPROF_COMBINE_ERROR_MAX 256

/* Adds up signs[i] * models[i] for count models, at least 1. A sign is 1 or -1. Types, period
 * and comments are those of the first model. The comments of the rest follow. The time is the
 * earliest, the duration the sum. Returns NULL if it cannot; error then has one line that says
 * why, in which names are used. */
struct heapprof_model *
rb_heapprof_combine(const struct heapprof_model *const *models, const int *signs,
                    const char *const *names, size_t count, char error[HEAPPROF_COMBINE_ERROR_MAX]);

#endif
