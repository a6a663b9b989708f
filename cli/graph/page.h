#ifndef HEAPPROF_CLI_GRAPH_PAGE_H
#define HEAPPROF_CLI_GRAPH_PAGE_H
/* A dump, and what changed since earlier ones, in the form that the page of `heapprof graph view`
 * reads: JSON that may stand in HTML. cli/page/README.md describes it. */
#include "cli/graph/diff.h"
#include "cli/graph/graph.h"
#include "cli/sources.h"

struct cli_graph_page {
    struct cli_graph *graph;     /* with both trees, and lengths */
    struct cli_graph_diff *diff; /* whose last dump graph is; NULL without earlier dumps. Rows that
                                    are too many for the page are moved to the rest */
    struct cli_sources
        *sources; /* where code is read, without places; NULL for a page without code */
    const char *name;            /* name of the file */
    uint32_t objects_most;       /* 1 or more: how many of the largest objects, and how many
                                    first objects of patterns, get their references on the page */
};

/* Returns false if there is no memory. */
bool cli_graph_page_write(FILE *out, const struct cli_graph_page *page);

#endif
