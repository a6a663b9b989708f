#ifndef HEAPPROF_VM_REPORT_H
#define HEAPPROF_VM_REPORT_H
#include "report/answer.h"
#include "profiler/snapshot.h"

/* A question about a snapshot, and the answer. */
struct heapprof_report {
    const struct heapprof_snapshot *snapshot;
    const struct heapprof_snapshot
        *earlier; /* with it the table shows growth; NULL: it shows what is largest */
    const char *by;
    struct heapprof_ask ask; /* for a table; its `by` is ignored */
    char  *text;             /* from malloc; NULL: error says why */
    size_t size;
    char   error[HEAPPROF_ANSWER_ERROR_MAX]; /* "": there was no memory */
    bool   done;
};

/* The table, as heapprof top and heapprof diff show it. Needs no GVL. */
void *rb_heapprof_report_table(void *report);

/* The stacks as lines, with the values of `by`. Needs no GVL. */
void *rb_heapprof_report_collapsed(void *report);

#endif
