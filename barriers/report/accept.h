#ifndef HEAPPROF_BARRIERS_ACCEPT_H
#define HEAPPROF_BARRIERS_ACCEPT_H
/* Findings that somebody has looked at, and found to be none:
 *
 *     p->owner = owner;  // heapprof: no barrier: it is never marked       at the store, or in a line of its own above it
 *     src/list.c:list_add:head the list is in a constant                  a line of a file: PATH:FUNCTION:FIELD REASON
 *
 * In such a file a path is held against the end of the source's; "*" is any function, or any field; "#" begins a comment.
 */
#include "barriers/flow/findings.h"

#define WB_ACCEPTED_MOST 10000 /* lines of a file */

struct wb_accepted {
    const char *path, *function, *field, *reason;
    unsigned    line;
    bool        used;    /* it accepts something */
};

/* Lines of a file; the memory of those that are used is shared with the processes that this one makes. */
struct wb_acceptance {
    const char         *file;
    size_t              count;
    struct wb_accepted *lines;
};

/* Reads such a file. False: it was told what is wrong. */
bool wb_acceptance_read(struct wb_acceptance *acceptance, struct wb_arena *arena, const char *file);

/* Notes at findings that they are accepted, by a comment or a line. Comments that accept nothing, or say no reason, are told. */
void wb_apply_acceptance(struct wb_program *program, struct wb_findings *findings,
                         const struct wb_acceptance *acceptance);

/* Tells the lines that accept nothing. */
void wb_acceptance_report_unused(const struct wb_acceptance *acceptance);

#endif
