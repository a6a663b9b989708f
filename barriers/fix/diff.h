#ifndef HEAPPROF_BARRIERS_DIFF_H
#define HEAPPROF_BARRIERS_DIFF_H
/* Writes the change of a file as a unified diff, for `patch -p1`. */
#include <stdio.h>

#include "barriers/text.h"

/* Lines first to last are replaced by a text. If last is before first, the text is inserted
 * before first. */
struct wb_edit {
    unsigned    first, last;  /* line numbers */
    const char *text;         /* whole lines, each with its newline */
};

/* edits: ordered by line, none within another. name: the name of the file in the diff. */
void wb_write_diff(FILE *out, const char *name, const struct wb_text *text,
                   const struct wb_edit *edits, size_t count);

#endif
