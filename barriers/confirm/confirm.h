#ifndef HEAPPROF_BARRIERS_CONFIRM_H
#define HEAPPROF_BARRIERS_CONFIRM_H
/* What the source lacks, and what the collector missed, side by side. */
#include <stdio.h>

#include "barriers/confirm/seen.h"
#include "barriers/flow/findings.h"

/* Looks for each place that was seen which findings fit it, and notes that at both. */
void wb_match_seen(struct wb_program *program, struct wb_findings *findings,
                   struct wb_all_seen *all);

/* A row for each finding: columns with tabs between. all: also what is not missing, and was not seen. */
void wb_write_rows(FILE *out, const struct wb_findings *findings, bool all, const char *directory);

/* A row for each place that was seen and that no finding fits. */
void wb_write_rows_seen(FILE *out, const struct wb_all_seen *all);

/* All rows that are in a file as one table, its columns below their names; nothing if there are none. */
void wb_write_table(FILE *out, FILE *rows);

#endif
