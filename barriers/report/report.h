#ifndef HEAPPROF_BARRIERS_REPORT_H
#define HEAPPROF_BARRIERS_REPORT_H
/* What was found, for people and programs. */
#include <stdio.h>

#include "barriers/confirm/seen.h"
#include "barriers/flow/findings.h"
#include "barriers/flow/remarks.h"

/* The findings from first on that are said together: the fields of a struct that is copied; returns where the next one is. */
size_t wb_group_end(const struct wb_findings *findings, size_t first);

/* "error", "warning", "note": how sure it is, in a compiler's words. */
const char *wb_severity(const struct wb_finding *finding);

/* What is said of findings that are said together, without a newline. */
void wb_write_message(FILE *out, struct wb_finding *const *findings, size_t count);

/* A file as it is shown from a directory: those below it from there. */
const char *wb_shown_path(const char *path, const char *directory);

/* Whether it is a missing barrier: of a type that needs them, not harmless, and not accepted. */
bool wb_missing_p(const struct wb_finding *finding);

/* What the collector said of a finding: "confirmed", "refuted" or "not reached". Returns NULL if the type is not
 * WB_PROTECTED: then the collector cannot see its stores. */
const char *wb_verdict(const struct wb_finding *finding);

/* As compilers write it, a line a place: "FILE:LINE:COLUMN: error: ...". all: also what is not missing. Files below that
 * directory are shown from there. */
void wb_report_text(FILE *out, const struct wb_findings *findings, bool all, const char *directory);

/* The same of what is told of types; all: also what may be right as it is. */
void wb_report_remarks(FILE *out, const struct wb_remark *remarks, bool all, const char *directory);

/* An object with all findings, also harmless ones; types with them. seen: the collector was asked, NULL: it was not. */
void wb_report_json(FILE *out, const char *name, const struct wb_program *program,
                    const struct wb_findings *findings, const struct wb_remark *remarks,
                    const struct wb_all_seen *seen);

/* What only the collector saw, as members of the object around all extensions. */
void wb_report_json_seen(FILE *out, const struct wb_all_seen *seen);

/* A run of SARIF 2.1.0, for editors and CI. */
void wb_report_sarif(FILE *out, const struct wb_findings *findings, const struct wb_remark *remarks,
                     bool all, const char *directory, const struct wb_all_seen *seen);

/* The same of what only the collector saw: its places are not known. */
void wb_report_sarif_seen(FILE *out, const struct wb_all_seen *seen);

/* A line that says how much was looked at, and found. */
void wb_report_summary(FILE *out, const char *name, const struct wb_program *program,
                       const struct wb_findings *findings);

#endif
