#ifndef HEAPPROF_BARRIERS_DIFF_H
#define HEAPPROF_BARRIERS_DIFF_H
/* A change of a file as a unified diff, which `patch -p1` applies. */
#include <stdio.h>

#include "barriers/text.h"

/* Lines that are replaced by others; last before first: others are put before first. */
struct wb_edit {
    unsigned    first, last;  /* line numbers */
    const char *text;         /* each line of it with its newline */
};

/* edits: in the order of their lines, and none in another one. name: what the file is called in the diff. */
void wb_write_diff(FILE *out, const char *name, const struct wb_text *text,
                   const struct wb_edit *edits, size_t count);

#endif
