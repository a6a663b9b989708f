#ifndef HEAPPROF_BARRIERS_REPORT_H
#define HEAPPROF_BARRIERS_REPORT_H
/* The findings, for people and for programs. */
#include <stdio.h>

#include "barriers/confirm/seen.h"
#include "barriers/flow/findings.h"
#include "barriers/flow/remarks.h"

/* Findings that one message names together: the fields of a struct that is copied. Returns the
 * index behind the group that begins at first. */
size_t wb_group_end(const struct wb_findings *findings, size_t first);

/* The severity of a finding in a compiler's words: "error", "warning" or "note". */
const char *wb_severity(const struct wb_finding *finding);

/* Writes the message for a group of findings, without a newline. */
void wb_write_message(FILE *out, struct wb_finding *const *findings, size_t count);

/* A path as it is shown: relative if the file is below the directory. */
const char *wb_shown_path(const char *path, const char *directory);

#define WB_MISSING_BARRIER "missing-write-barrier" /* the rule of such findings, for programs */

/* True if the finding is a missing barrier: the type needs barriers, and the store is neither
 * harmless nor accepted. */
bool wb_missing_p(const struct wb_finding *finding);

/* What the collector said of a finding: "confirmed", "refuted" or "not reached". Returns NULL
 * if the type is not WB_PROTECTED: then the collector cannot see its stores. */
const char *wb_verdict(const struct wb_finding *finding);

/* Writes the lines of a group of findings, and the line of a remark. */
void wb_write_finding(FILE *out, struct wb_finding *const *findings, size_t count,
                      const char *directory);
void wb_write_remark(FILE *out, const struct wb_remark *remark, const char *directory);

/* Writes a line for each place, as compilers do: "FILE:LINE:COLUMN: error: ...". all: also
 * findings that are not missing barriers. Files below the directory are shown relative to it. */
void wb_report_text(FILE *out, const struct wb_findings *findings, bool all, const char *directory);

/* The same for remarks about types. all: also remarks that are no errors. */
void wb_report_remarks(FILE *out, const struct wb_remark *remarks, bool all, const char *directory);

/* Writes an object: the types, and all findings with the harmless ones. seen: what the
 * collector saw, or NULL if it was not asked. */
void wb_report_json(FILE *out, const char *name, const struct wb_program *program,
                    const struct wb_findings *findings, const struct wb_remark *remarks,
                    const struct wb_all_seen *seen);

/* Writes what only the collector missed, as members of the object around all extensions. */
void wb_report_json_seen(FILE *out, const struct wb_all_seen *seen);

/* Writes a run of SARIF 2.1.0, for editors and CI. */
void wb_report_sarif(FILE *out, const char *name, const struct wb_program *program,
                     const struct wb_findings *findings, const struct wb_remark *remarks, bool all,
                     const char *directory, const struct wb_all_seen *seen);

/* The beginning and the end of JUnit's XML. The test suites stand between them. */
#define REPORT_JUNIT_BEGIN \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"heapprof barriers\">\n"
#define REPORT_JUNIT_END "</testsuites>\n"

/* Writes a test suite. whole: all of the code could be read. */
void wb_report_junit(FILE *out, const char *extension, const struct wb_program *program,
                     const struct wb_findings *findings, const struct wb_remark *remarks,
                     bool whole, const char *directory);

/* The same for what only the collector missed. The places of these results are not known. */
void wb_report_sarif_seen(FILE *out, const struct wb_all_seen *seen);

/* Writes the summary line of an extension. faults: those of the remarks. */
void wb_report_summary(FILE *out, const char *name, const struct wb_program *program,
                       const struct wb_findings *findings, size_t faults);

#endif
