#ifndef HEAPPROF_BARRIERS_ANALYSE_H
#define HEAPPROF_BARRIERS_ANALYSE_H
/* From an extension that was read to the findings. */
#include "barriers/flow/findings.h"

/* Finds stores into the data of objects that have no barrier. The findings are ordered by file
 * and line. */
void wb_analyse(struct wb_program *program, struct wb_findings *findings);

#endif
