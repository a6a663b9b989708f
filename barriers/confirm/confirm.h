#ifndef HEAPPROF_BARRIERS_CONFIRM_H
#define HEAPPROF_BARRIERS_CONFIRM_H
/* Puts side by side what the source lacks and what the collector missed. */
#include <stdio.h>

#include "barriers/confirm/seen.h"
#include "barriers/flow/findings.h"

/* Looks for the findings that fit each place that the collector missed. Notes the result at
 * both. */
void wb_match_seen(struct wb_program *program, struct wb_findings *findings,
                   struct wb_all_seen *all);

/* Writes a row for each finding, with tabs between the columns. all: also findings that are
 * not missing barriers. */
void wb_write_rows(FILE *out, const struct wb_findings *findings, bool all, const char *directory);

/* Writes a row for each place that the collector missed and that no finding fits. */
void wb_write_rows_seen(FILE *out, const struct wb_all_seen *all);

/* Writes all rows of a file as one table, with the names of the columns above. Writes nothing
 * if there are no rows. */
void wb_write_table(FILE *out, FILE *rows);

#endif
