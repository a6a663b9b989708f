#ifndef HEAPPROF_REPORT_UNSAMPLED_H
#define HEAPPROF_REPORT_UNSAMPLED_H
/* What no sample is of, because C code has asked the system's malloc for it: the rungs of RSS that are blocks of the
 * allocator grew by more than the samples of blocks did. */
#include <stdio.h>

#include "report/groups.h"

/* Two lines that say by how much, and how it is sampled; nothing where that is little, or not to be told from noise,
 * or where files say nothing of RSS. The profiles are as for report_groups_make. False: no memory. */
bool report_unsampled(FILE *out, const struct report_question *question, const struct heapprof_model *const *models,
                      uint32_t profiles);

#endif
