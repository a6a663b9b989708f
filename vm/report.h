#ifndef HEAPPROF_VM_REPORT_H
#define HEAPPROF_VM_REPORT_H
#include "report/answer.h"
#include "profiler/snapshot.h"

/* What is asked of a snapshot, and the answer. */
struct heapprof_report {
    const struct heapprof_snapshot *snapshot;
    const char *by;
    char  *text;     /* from malloc; NULL: no memory */
    size_t size;
    bool   done;
};

/* The stacks as lines, of that value. Needs no GVL. */
void *rb_heapprof_report_collapsed(void *report);

#endif
