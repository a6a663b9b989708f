#ifndef HEAPPROF_REPORT_PAGE_H
#define HEAPPROF_REPORT_PAGE_H
/* Writes the profile for the page of `heapprof view`: JSON that may stand in HTML.
 * cli/page/README.md describes it. */
#include "report/json.h"
#include "report/page_tables.h"

/* Writes the value of "sources", which is an array. */
typedef void report_page_sources_i(struct report_json *json, void *data);

struct report_page {
    const char *name, *old; /* names of the files; old is NULL unless this is a difference */
    const struct heapprof_model *model; /* the newer one: types, comments, time */
    const struct report_page_tables *tables;
    report_page_sources_i *put_sources;
    void *data;                         /* is passed to put_sources */
};

void report_page_write(FILE *out, const struct report_page *page);

#endif
