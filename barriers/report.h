#ifndef HEAPPROF_BARRIERS_REPORT_H
#define HEAPPROF_BARRIERS_REPORT_H
/* What was found, for people and programs. */
#include <stdio.h>

#include "barriers/findings.h"

/* Whether it is a missing barrier: of a type that needs them, and not harmless. */
bool wb_missing_p(const struct wb_finding *finding);

/* As compilers write it, a line a place: "FILE:LINE:COLUMN: error: ...". all: also what is not missing. Files below that
 * directory are shown from there. */
void wb_report_text(FILE *out, const struct wb_findings *findings, bool all, const char *directory);

/* A line that says how much was looked at, and found. */
void wb_report_summary(FILE *out, const char *name, const struct wb_program *program,
                       const struct wb_findings *findings);

#endif
