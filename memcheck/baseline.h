#ifndef HEAPPROF_MEMCHECK_BASELINE_H
#define HEAPPROF_MEMCHECK_BASELINE_H
/* The causes that are known, so that only new ones are shown. A file has a line for each, in the
 * order of the numbers:
 *
 *     NUMBER KIND FUNCTION (LIBRARY) ...
 *
 * Only the number counts. The rest is for people. A line that begins with # is a comment. */
#include <stdio.h>

#include "memcheck/process.h"

struct memcheck_baseline {
    uint64_t *causes;        /* sorted */
    size_t    count, capacity;
};

#define MEMCHECK_BASELINE_ERROR_MAX 128

/* Returns false with a one-line error. The caller frees the baseline either way. */
bool memcheck_baseline_read(struct memcheck_baseline *baseline, const char *path,
                            char error[MEMCHECK_BASELINE_ERROR_MAX]);
void memcheck_baseline_free(struct memcheck_baseline *baseline);

bool memcheck_baseline_has_p(const struct memcheck_baseline *baseline, uint64_t cause);

/* A line of a file: the cause of a record. */
struct memcheck_baseline_line {
    const struct memcheck_process *process;
    const struct memcheck_record *record;
};

/* Writes a file with these lines, each cause once. Sorts them. */
void memcheck_baseline_put(FILE *out, struct memcheck_baseline_line *lines, size_t count);

#endif
