/* junit.c - the report as JUnit's XML, which CI servers read. Each process is a test case. It
 * fails if the process has a leak or an error, or if its losses are not known. The type of the
 * failure is the worst kind of these; its text is the report for people. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* open_memstream */
#endif
#include "memcheck/report.h"

#include <stdlib.h>

#include "report/text.h"
#include "report/xml.h"

static bool
failed_p(const struct memcheck_question *question, const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);
    return !process->decided || tally.leaks + tally.errors > 0;
}

static const char *
worst_kind(const struct memcheck_question *question, const struct memcheck_process *process)
{
    enum memcheck_kind worst = MEMCHECK_DEFINITE;

    for (size_t i = 0; i < process->record_count; i++) {
        const struct memcheck_record *record = &process->records[i];
        if (record->kind < worst && memcheck_judge(question, process, record) == MEMCHECK_SHOWN)
            worst = record->kind;
    }
    return memcheck_kind_names[worst];
}

static void
put_failure(FILE *out, const struct memcheck_question *question,
            const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);
    char leaks[REPORT_COUNT_MAX], errors[REPORT_COUNT_MAX];

    if (tally.leaks + tally.errors == 0) {
        fputs("<failure message=\"not decided\" type=\"not_decided\">", out);
        return;
    }
    report_count(leaks, tally.leaks, "leak", "leaks");
    report_count(errors, tally.errors, "error", "errors");
    fprintf(out, "<failure message=\"%s, %s\" type=\"%s\">", leaks, errors,
            worst_kind(question, process));
}

static bool
put_process(FILE *out, const struct memcheck_question *question,
            const struct memcheck_process *process, size_t number)
{
    char *text = NULL;
    size_t size;
    FILE *people = open_memstream(&text, &size);

    if (!people) return false;
    memcheck_text(people, question, process, 1);
    if (fclose(people) == 0) {
        bool failed = failed_p(question, process);
        fprintf(out, "  <testcase classname=\"memcheck\" name=\"process %zu\">", number);
        if (failed) put_failure(out, question, process);
        else fputs("<system-out>", out);
        report_xml_text(out, text);
        fprintf(out, "</%s></testcase>\n", failed ? "failure" : "system-out");
    }
    free(text);
    return text != NULL;
}

bool
memcheck_junit(FILE *out, const struct memcheck_question *question,
               const struct memcheck_process *processes, size_t count)
{
    size_t failures = 0;
    bool whole = true;

    for (size_t i = 0; i < count; i++) failures += failed_p(question, &processes[i]);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"heapprof memcheck\" "
            "tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
            count, failures);
    for (size_t i = 0; i < count; i++)
        whole = put_process(out, question, &processes[i], i + 1) && whole;
    fputs("</testsuite>\n", out);
    return whole;
}
