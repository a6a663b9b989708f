#ifndef HEAPPROF_MEMCHECK_SUPPRESSIONS_H
#define HEAPPROF_MEMCHECK_SUPPRESSIONS_H
/* Leaks that are known and not to be told again, by a file of lines
 *
 *     LIBRARY FUNCTION [FRAME]    # why
 *
 * patterns as a shell has them for files (*, ?, [...], a backslash before what is meant as it is): the library and the C function
 * that asked, and the name of any frame of the Ruby stack. A space or a # in a name is written
 * as ?. */
#include <stdio.h>

#include "memcheck/process.h"

struct memcheck_suppression {
    char *library, *function, *frame; /* frame NULL: any stack */
};

struct memcheck_suppressions {
    struct memcheck_suppression *all;
    size_t count, capacity;
};

#define MEMCHECK_SUPPRESSIONS_ERROR_MAX 128

/* Reads the file. False: error says in a line why. Free it either way. */
bool memcheck_suppressions_read(struct memcheck_suppressions *suppressions, const char *path,
                                char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX]);
void memcheck_suppressions_free(struct memcheck_suppressions *suppressions);

bool memcheck_suppressed_p(const struct memcheck_suppressions *suppressions, const struct memcheck_process *process,
                           const struct memcheck_record *record);

/* Writes the line that suppresses that record. */
void memcheck_suppression_put(FILE *out, const struct memcheck_process *process, const struct memcheck_record *record);

#endif
