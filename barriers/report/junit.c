/* junit.c - findings as JUnit's XML, which CI servers read. An extension is a test suite. Each of
 * its types is a test case, which fails if a store lacks its barrier, or if the type has an error.
 * The global variables are another one. */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>

#include "barriers/report/report.h"
#include "report/xml.h"

/* Writes the lines of the type; NULL: of global variables. Returns how many there are. *rule is
 * the rule of the first. */
static size_t
write_failures(FILE *out, const struct wb_data_type *type, const struct wb_findings *findings,
               const struct wb_remark *remarks, const char *directory, const char **rule)
{
    size_t next, count = 0;

    for (size_t i = 0; i < findings->count; i = next) {
        next = wb_group_end(findings, i);
        if (findings->all[i]->data_type != type || !wb_missing_p(findings->all[i])) continue;
        wb_write_finding(out, findings->all + i, next - i, directory);
        *rule = WB_MISSING_BARRIER;
        count++;
    }
    for (; remarks; remarks = remarks->next) {
        if (remarks->data_type != type || remarks->severity == WB_NOTE) continue;
        wb_write_remark(out, remarks, directory);
        if (count++ == 0) *rule = wb_rules[remarks->rule].id;
    }
    return count;
}

static void
begin_case(FILE *out, const char *extension, const char *name)
{
    fputs("    <testcase classname=\"", out);
    report_xml_text(out, extension);
    fputs("\" name=\"", out);
    report_xml_text(out, name);
    fputs("\"", out);
}

/* Returns whether the type fails. */
static bool
write_type(FILE *out, const char *extension, const struct wb_data_type *type,
           const struct wb_findings *findings, const struct wb_remark *remarks,
           const char *directory)
{
    const char *rule = "";
    char *text = NULL;
    size_t size;
    FILE *lines = open_memstream(&text, &size);

    if (!lines) wb_out_of_memory();
    size_t count = write_failures(lines, type, findings, remarks, directory, &rule);
    if (fclose(lines)) wb_out_of_memory();
    begin_case(out, extension, type ? type->name : "global variables");
    if (count > 0) {
        fprintf(out, "><failure message=\"%zu %s\" type=\"%s\">", count,
                count == 1 ? "error" : "errors", rule);
        report_xml_text(out, text);
        fputs("</failure></testcase>\n", out);
    }
    else fputs("/>\n", out);
    free(text);
    return count > 0;
}

void
wb_report_junit(FILE *out, const char *extension, const struct wb_program *program,
                const struct wb_findings *findings, const struct wb_remark *remarks, bool whole,
                const char *directory)
{
    char *text = NULL;
    size_t size, tests = 2, failures = 0;
    FILE *cases = open_memstream(&text, &size);

    if (!cases) wb_out_of_memory();
    for (const struct wb_data_type *type = program->data_types; type; type = type->next) {
        if (!type->known) continue;
        tests++;
        failures += write_type(cases, extension, type, findings, remarks, directory);
    }
    failures += write_type(cases, extension, NULL, findings, remarks, directory);
    begin_case(cases, extension, "the sources can be read");
    if (whole) fputs("/>\n", cases);
    else {
        fputs("><error message=\"some code could not be read; stderr says which\" "
              "type=\"unreadable\"/></testcase>\n", cases);
    }
    if (fclose(cases)) wb_out_of_memory();
    fputs("  <testsuite name=\"", out);
    report_xml_text(out, extension);
    fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\">\n%s  </testsuite>\n", tests,
            failures, !whole, text);
    free(text);
}
