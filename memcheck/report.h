#ifndef HEAPPROF_MEMCHECK_REPORT_H
#define HEAPPROF_MEMCHECK_REPORT_H
/* What was found, for people, for programs, for CI servers, and for code scanning. Errors stay in the stream (ferror). False: no memory. */
#include <stdio.h>

#include "memcheck/judge.h"

typedef bool memcheck_report(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes,
                             size_t count);

memcheck_report memcheck_text, memcheck_json, memcheck_junit, memcheck_sarif;

/* A record's kind and amount, the separator, and who asked: "definitely lost: 9 bytes in 1 block", "f (a.so)". Of an error what Valgrind
 * says, and who did it: "use after free: Invalid read of size 4, 3 times", "f (a.so)". */
void memcheck_headline_put(FILE *out, const struct memcheck_process *process, const struct memcheck_record *record,
                           const char *separator);

/* A member "not_shown": how many records are not, by why. */
struct report_json;
void memcheck_not_shown_put(struct report_json *json, const struct memcheck_tally *tally);

/* Why it is not known what the process has lost: "not decided: ...". */
const char *memcheck_undecided(const struct memcheck_process *process);

#endif
