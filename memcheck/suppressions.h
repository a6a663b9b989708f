#ifndef HEAPPROF_MEMCHECK_SUPPRESSIONS_H
#define HEAPPROF_MEMCHECK_SUPPRESSIONS_H
/* Known leaks that are not reported again. A file has lines
 *
 *     LIBRARY FUNCTION [FRAME]    # why
 *
 * which are patterns like a shell's for files: *, ?, [...], and a backslash before a character
 * that stands for itself. They match the library, the C function that allocated, and the name
 * of any frame of the Ruby stack. A function without a name is matched by that for which it
 * allocated (callers.h). A space or # in a name is written as ?.
 *
 * The user may also name a directory. Then the files for this version of Ruby are read:
 *
 *     ruby.supp  ruby-3.supp  ruby-3.4.supp  ruby-3.4.9.supp
 *
 * and files with the same after a name and _, such as parser_ruby-3.4.supp.
 */
#include <stdio.h>

#include "memcheck/process.h"

struct memcheck_suppression {
    char *library, *function, *frame; /* frame is NULL for any stack */
    const char *file;                 /* file that contains it, without directories */
    unsigned line;
};

struct memcheck_suppressions {
    struct memcheck_suppression *all;
    size_t count, capacity;
    char **files;                     /* names */
    size_t file_count, file_capacity;
};

#define MEMCHECK_SUPPRESSIONS_ERROR_MAX 384

/* Reads a file; or, from a directory, the files for this version, such as "3.4.9". Returns
 * false with a one-line error. The caller frees suppressions either way. */
bool memcheck_suppressions_read(struct memcheck_suppressions *suppressions, const char *path,
                                const char *version,
                                char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX]);
void memcheck_suppressions_free(struct memcheck_suppressions *suppressions);

/* The first suppression that matches the record; NULL if none does. */
const struct memcheck_suppression *
memcheck_suppression_of(const struct memcheck_suppressions *suppressions,
                        const struct memcheck_process *process,
                        const struct memcheck_record *record);

/* Writes the line that would suppress the record. */
void memcheck_suppression_put(FILE *out, const struct memcheck_process *process,
                              const struct memcheck_record *record);

#endif
