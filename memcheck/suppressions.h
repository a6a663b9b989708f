#ifndef HEAPPROF_MEMCHECK_SUPPRESSIONS_H
#define HEAPPROF_MEMCHECK_SUPPRESSIONS_H
/* Leaks that are known and not to be told again, by a file of lines
 *
 *     LIBRARY FUNCTION [FRAME]    # why
 *
 * patterns as a shell has them for files (*, ?, [...], a backslash before what is meant as it is): the library and the C function
 * that asked, and the name of any frame of the Ruby stack. A space or a # in a name is written
 * as ?.
 *
 * Or by a directory of such files, of which those are read that are for this version of ruby:
 *
 *     ruby.supp  ruby-3.supp  ruby-3.4.supp  ruby-3.4.5.supp     and the same behind a name and _, as parser_ruby-3.4.supp */
#include <stdio.h>

#include "memcheck/process.h"

struct memcheck_suppression {
    char *library, *function, *frame; /* frame NULL: any stack */
    const char *file;                 /* where it stands, without directories */
    unsigned line;
};

struct memcheck_suppressions {
    struct memcheck_suppression *all;
    size_t count, capacity;
    char **files;                     /* names */
    size_t file_count;
};

#define MEMCHECK_SUPPRESSIONS_ERROR_MAX 384

/* Reads the file, or those of the directory that are for that version, as "3.4.5". False: error says in a line why. Free it either
 * way. */
bool memcheck_suppressions_read(struct memcheck_suppressions *suppressions, const char *path, const char *version,
                                char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX]);
void memcheck_suppressions_free(struct memcheck_suppressions *suppressions);

/* The first that means the record; NULL: none does. */
const struct memcheck_suppression *memcheck_suppression_of(const struct memcheck_suppressions *suppressions,
                                                           const struct memcheck_process *process, const struct memcheck_record *record);

/* Writes the line that suppresses that record. */
void memcheck_suppression_put(FILE *out, const struct memcheck_process *process, const struct memcheck_record *record);

#endif
