#ifndef HEAPPROF_REPORT_OVERVIEW_H
#define HEAPPROF_REPORT_OVERVIEW_H
/* What people want to see who have asked for nothing: first the lines of their own code that matter most, then
 * the call sites. */
#include "report/table.h"

/* As text, of the profiles side by side; what the question groups by does not count. Where no profile says which
 * code is the application's, only the call sites. False: no memory. */
bool report_overview(FILE *out, const struct report_question *question, const struct heapprof_model *const *models,
                     const uint32_t *types, uint32_t profiles, const struct report_look *look);

#endif
