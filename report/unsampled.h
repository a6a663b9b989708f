#ifndef HEAPPROF_REPORT_UNSAMPLED_H
#define HEAPPROF_REPORT_UNSAMPLED_H
/* Growth that no sample shows, because C code got the memory from the system's malloc. It is
 * found by comparison: the parts of RSS that are blocks of the allocator grew by more than the
 * samples of blocks did. */
#include <stdio.h>

#include "report/groups.h"

struct report_unsampled {
    double growth, error; /* bytes; 0: there is nothing to tell */
};

/* Finds that growth. It is 0 if it is small, or cannot be told from noise, or if the files say
 * nothing about RSS. The profiles are as for report_groups_make. Returns false if there is no
 * memory. */
bool report_unsampled_find(struct report_unsampled *unsampled,
                           const struct report_question *question,
                           const struct heapprof_model *const *models, uint32_t profiles);

/* Writes two lines: by how much it grew, and how to sample it. */
void report_unsampled_put(FILE *out, const struct report_unsampled *unsampled);

#endif
