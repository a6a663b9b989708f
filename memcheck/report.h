#ifndef HEAPPROF_MEMCHECK_REPORT_H
#define HEAPPROF_MEMCHECK_REPORT_H
/* What was found, for people, for programs, and for CI servers. Errors stay in the stream (ferror). False: no memory. */
#include <stdio.h>

#include "memcheck/judge.h"

typedef bool memcheck_report(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes,
                             size_t count);

memcheck_report memcheck_text, memcheck_json, memcheck_junit;

#endif
