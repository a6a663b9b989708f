#ifndef HEAPPROF_BARRIERS_TEXT_H
#define HEAPPROF_BARRIERS_TEXT_H
/* A source file as lines, as an editor shows it. */
#include <stdbool.h>

#include "barriers/arena.h"

struct wb_text {
    const char  *path;
    const char **lines;   /* each with a final NUL in the place of the newline */
    size_t       count;
    bool         unended; /* the last line has no newline */
    struct wb_text *next;
};

#define WB_TEXT_MOST ((size_t)64 << 20) /* bytes of a file */

/* NULL: it cannot be read, or is no text, or too large. */
struct wb_text *wb_text_read(struct wb_arena *arena, const char *path);

/* The same, read once: files are kept in that list, also those that cannot be read, with no line. */
const struct wb_text *wb_text_of(struct wb_arena *arena, struct wb_text **texts, const char *path);

/* A line by its number from 1 on; NULL: there is none. */
const char *wb_line(const struct wb_text *text, unsigned number);

#endif
