#ifndef HEAPPROF_BARRIERS_EDITS_H
#define HEAPPROF_BARRIERS_EDITS_H
/* Changes of files, which come in any order, and are written in that of files and lines as one unified diff. */
#include "barriers/fix/diff.h"

struct wb_edits {
    struct wb_arena   *arena;
    const char        *directory;  /* files below it are named from there; others are not changed */
    struct wb_planned *all;
    size_t             count, capacity;
};

/* NULL, or why it cannot be. What is planned already is planned once. */
const char *wb_edits_add(struct wb_edits *edits, const struct wb_text *text,
                         const struct wb_edit *edit);

/* Only that many of the first are left: those behind are not to be. */
void wb_edits_keep(struct wb_edits *edits, size_t count);

void wb_edits_write(FILE *out, struct wb_edits *edits);

#endif
