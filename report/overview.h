#ifndef HEAPPROF_REPORT_OVERVIEW_H
#define HEAPPROF_REPORT_OVERVIEW_H
/* What a user sees without --group: first the lines of the user's own code that matter most, then
 * the call sites; or functions, if the order is that of what they and their callees hold, which
 * call sites do not have. */
#include "report/table.h"

/* Writes both tables by that function, with the profiles side by side. The group of the question
 * is ignored. If no profile says which code is the application's, writes only the call sites.
 * Returns false if there is no memory. */
bool report_overview(FILE *out, const struct report_question *question,
                     const struct heapprof_model *const *models, const uint32_t *types,
                     uint32_t profiles, const struct report_look *look, report_table_i *table);

/* Writes the same as a JSON object: the call sites, the lines as "application", and "unsampled". */
bool report_overview_json(FILE *out, const struct report_question *question,
                          const struct heapprof_model *const *models, const uint32_t *types,
                          uint32_t profiles, const struct report_look *look);

#endif
