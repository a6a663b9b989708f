#ifndef HEAPPROF_BARRIERS_ANALYSE_H
#define HEAPPROF_BARRIERS_ANALYSE_H
/* From what was read of an extension to what is told of it. */
#include "barriers/flow/findings.h"

/* Stores into the data of objects of WB_PROTECTED types that have no barrier, by file and line. */
void wb_analyse(struct wb_program *program, struct wb_findings *findings);

#endif
