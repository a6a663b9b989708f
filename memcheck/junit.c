/* junit.c - the report as JUnit's XML, which CI servers read. Each process is a test case. It
 * fails if the process has a leak or an error, or if its losses are not known. The text of the
 * failure is the report for people. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* open_memstream */
#endif
#include "memcheck/report.h"

#include <stdlib.h>

/* The text is UTF-8 without control characters except newlines, as memcheck_text writes it. */
static void
put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
          case '&': fputs("&amp;", out); break;
          case '<': fputs("&lt;", out); break;
          case '>': fputs("&gt;", out); break;
          default: putc(*text, out);
        }
    }
}

static bool
failed_p(const struct memcheck_question *question, const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);
    return !process->decided || tally.leaks + tally.errors > 0;
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
        const char *element = failed_p(question, process) ? "failure" : "system-out";
        fprintf(out, "  <testcase classname=\"memcheck\" name=\"process %zu\"><%s>", number,
                element);
        put_escaped(out, text);
        fprintf(out, "</%s></testcase>\n", element);
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
            "tests=\"%zu\" failures=\"%zu\">\n",
            count, failures);
    for (size_t i = 0; i < count; i++)
        whole = put_process(out, question, &processes[i], i + 1) && whole;
    fputs("</testsuite>\n", out);
    return whole;
}
