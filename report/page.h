#ifndef HEAPPROF_REPORT_PAGE_H
#define HEAPPROF_REPORT_PAGE_H
/* The profile as the page of `heapprof view` takes it: JSON that may stand in HTML, as
 * cli/page/README.md says. */
#include "report/json.h"
#include "report/page_tables.h"

/* Puts the value of "sources": an array. */
typedef void report_page_sources_i(struct report_json *json, void *data);

struct report_page {
    const char *name, *old;             /* files; old: NULL, or it is a difference */
    const struct heapprof_model *model; /* the newer one: types, comments, time */
    const struct report_page_tables *tables;
    report_page_sources_i *put_sources;
    void *data;                         /* put_sources' own */
};

void report_page_write(FILE *out, const struct report_page *page);

#endif
