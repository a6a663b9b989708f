#ifndef HEAPPROF_BARRIERS_TEXT_H
#define HEAPPROF_BARRIERS_TEXT_H
/* A source file as lines, as an editor shows it. */
#include <stdbool.h>

#include "barriers/arena.h"

struct wb_text {
    const char  *path;
    const char **lines;   /* each ends with a NUL in place of its newline */
    size_t       count;
    bool         unended; /* the last line has no newline */
    struct wb_text *next;
};

#define WB_TEXT_MOST ((size_t)64 << 20) /* bytes of a file */

/* Reads a file. Returns NULL if the file cannot be read, has a NUL in it, or is larger than
 * WB_TEXT_MOST. */
struct wb_text *wb_text_read(struct wb_arena *arena, const char *path);

/* The same, but each file is read once: the list keeps every file that was asked for. A file that
 * cannot be read is kept there without lines. */
const struct wb_text *wb_text_of(struct wb_arena *arena, struct wb_text **texts, const char *path);

/* A line by its number, from 1 on. Returns NULL if there is no such line. */
const char *wb_line(const struct wb_text *text, unsigned number);

#endif
