#ifndef HEAPPROF_BARRIERS_REFUTE_H
#define HEAPPROF_BARRIERS_REFUTE_H
/* Which findings had their barrier each time the store ran. */
#include "barriers/confirm/seen.h"
#include "barriers/flow/findings.h"

/* Notes at each finding which barriers were called for its field, and whether they refute it. */
void wb_refute(struct wb_program *program, struct wb_findings *findings,
               const struct wb_all_seen *all);

#endif
