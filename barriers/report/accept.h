#ifndef HEAPPROF_BARRIERS_ACCEPT_H
#define HEAPPROF_BARRIERS_ACCEPT_H
/* Findings that somebody has looked at and accepts, because the store needs no barrier:
 *
 *     p->owner = owner;  // heapprof: no barrier: it is never marked   a comment at the store
 *                                                                      or above it
 *     src/list.c:list_add:head the list is in a constant               a line of the file of
 *                                                                      --accept
 *
 * Such a line is PATH:FUNCTION:FIELD REASON. PATH is compared with the end of the source's
 * path. "*" stands for any function or field. "#" begins a comment.
 */
#include "barriers/flow/findings.h"

#define WB_ACCEPTED_MOST 10000 /* lines of a file */

struct wb_accepted {
    const char *path, *function, *field, *reason;
    unsigned    line;
    bool        used;    /* it accepts a finding */
};

/* The lines of such a file. They lie in memory that this process shares with its children,
 * which set used. */
struct wb_acceptance {
    const char         *file;
    size_t              count;
    struct wb_accepted *lines;
};

/* Reads such a file. Returns false if something is wrong with it; a line said what. */
bool wb_acceptance_read(struct wb_acceptance *acceptance, struct wb_arena *arena, const char *file);

/* Marks findings as accepted, by comments and lines. Warns of comments that accept nothing or
 * have no reason. */
void wb_apply_acceptance(struct wb_program *program, struct wb_findings *findings,
                         const struct wb_acceptance *acceptance);

/* Warns of lines that accept nothing. */
void wb_acceptance_report_unused(const struct wb_acceptance *acceptance);

#endif
