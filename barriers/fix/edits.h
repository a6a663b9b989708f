#ifndef HEAPPROF_BARRIERS_EDITS_H
#define HEAPPROF_BARRIERS_EDITS_H
/* Edits of several files. They are added in any order, and written by file and line as one
 * unified diff. */
#include "barriers/fix/diff.h"

struct wb_edits {
    struct wb_arena   *arena;
    const char        *directory;  /* only files below it are changed; they are named relative to
                                    * it */
    struct wb_planned *all;
    size_t             count, capacity;
};

/* Adds an edit. Returns NULL, or why it cannot be made. An insertion that was added before is
 * not repeated. */
const char *wb_edits_add(struct wb_edits *edits, const struct wb_text *text,
                         const struct wb_edit *edit);

/* Drops all edits behind the first count. */
void wb_edits_keep(struct wb_edits *edits, size_t count);

void wb_edits_write(FILE *out, struct wb_edits *edits);

#endif
