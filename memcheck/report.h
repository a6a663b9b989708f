#ifndef HEAPPROF_MEMCHECK_REPORT_H
#define HEAPPROF_MEMCHECK_REPORT_H
/* Writes what was found: as text for people, as JSON for programs, as JUnit's XML for CI
 * servers, as SARIF for code scanning. An output error stays in the stream (ferror). Each
 * function returns false if there is no memory. */
#include <stdio.h>

#include "memcheck/judge.h"

typedef bool memcheck_report(FILE *out, const struct memcheck_question *question,
                             const struct memcheck_process *processes,
                             size_t count);

memcheck_report memcheck_text, memcheck_json, memcheck_junit, memcheck_sarif;

/* Writes the kind and amount of a record, the separator, and who allocated: "definitely lost: 9
 * bytes in 1 block", "f (a.so)". For an error: what Valgrind says, and who did it: "use after
 * free: Invalid read of size 4, 3 times", "f (a.so)". */
void memcheck_headline_put(FILE *out, const struct memcheck_process *process,
                           const struct memcheck_record *record,
                           const char *separator);

/* Writes a function and its library: "f (a.so)". */
void memcheck_c_function_put(FILE *out, const struct memcheck_c_function *one);

/* Writes who allocated, or who did it, and for whom: "f (a.so)", "f (a.so) for g (b.so)". */
void memcheck_function_put(FILE *out, const struct memcheck_process *process,
                           const struct memcheck_record *record);

/* Writes a member "not_shown": how many records are not shown, by reason. */
struct report_json;
void memcheck_not_shown_put(struct report_json *json, const struct memcheck_tally *tally);

/* Says why the losses of the process are not known: "not decided: ...". */
const char *memcheck_undecided(const struct memcheck_process *process);

#endif
