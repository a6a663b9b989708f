#ifndef HEAPPROF_BARRIERS_STATEMENT_H
#define HEAPPROF_BARRIERS_STATEMENT_H
/* A store as it is written: an assignment, or a call that copies. */
#include "barriers/text.h"

struct wb_statement {
    unsigned    first, last;   /* its lines */
    const char *before;        /* what stands before it in the first line */
    const char *whole;         /* its text up to ";", which is not in it */
    const char *behind;        /* what stands behind that in the last line */
    const char *to;            /* what is assigned to, or copied to: an address then */
    const char *value;         /* what is assigned; NULL: it is a copy by a call */
    bool        alone;         /* it is a statement among others, not all of an if's */
};

/* The one that begins there, an assignment or a copy. NULL, or why it is not understood. */
const char *wb_statement_read(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                              unsigned column, struct wb_statement *statement);

/* The same of a call that is all of a statement among others, the last one in its line. False: it is none. */
bool wb_statement_is_call(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                          unsigned column, struct wb_statement *statement);

/* Whether another statement may be put before that line, to run before what stands in that column: a call whose value is
 * perhaps assigned or returned. */
bool wb_line_begins_p(struct wb_arena *arena, const struct wb_text *text, unsigned line,
                      unsigned column);

#endif
