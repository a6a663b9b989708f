#ifndef HEAPPROF_BARRIERS_STATEMENT_H
#define HEAPPROF_BARRIERS_STATEMENT_H
/* A store as it is written in the source: an assignment, or a call that copies. */
#include "barriers/text.h"

struct wb_statement {
    unsigned    first, last;   /* first and last line */
    const char *before;        /* the text before it in the first line */
    const char *whole;         /* its text, without the ";" */
    const char *behind;        /* the text behind the ";" in the last line */
    const char *to;            /* the left side; of a copy the address that is copied to */
    const char *value;         /* the right side; NULL for a copy by a call */
    bool        alone;         /* it is a statement in a block, not the only one of an if */
};

/* Reads the assignment or copy that begins at that place. Returns NULL, or why it is not
 * understood. */
const char *wb_statement_read(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                              unsigned column, struct wb_statement *statement);

/* Reads a call. Returns false unless the call is a whole statement in a block and the last one
 * in its line. */
bool wb_statement_is_call(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                          unsigned column, struct wb_statement *statement);

/* True if a statement may be inserted before the line so that it runs before the call in that
 * column. The value of the call may be assigned or returned. */
bool wb_line_begins_p(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                      unsigned column);

#endif
