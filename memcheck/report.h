#ifndef HEAPPROF_MEMCHECK_REPORT_H
#define HEAPPROF_MEMCHECK_REPORT_H
/* What was found, for people and for programs. Errors stay in the stream (ferror). */
#include <stdio.h>

#include "memcheck/judge.h"

void memcheck_text(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes,
                   size_t count);
void memcheck_json(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes,
                   size_t count);

#endif
