#ifndef HEAPPROF_BARRIERS_REFUTE_H
#define HEAPPROF_BARRIERS_REFUTE_H
/* Which stores that look wrong in the source had their barrier each time. */
#include "barriers/confirm/seen.h"
#include "barriers/flow/findings.h"

/* Notes at each finding which barriers have told of its field, and whether that refutes it. */
void wb_refute(struct wb_program *program, struct wb_findings *findings,
               const struct wb_all_seen *all);

#endif
