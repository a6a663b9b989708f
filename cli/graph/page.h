#ifndef HEAPPROF_CLI_GRAPH_PAGE_H
#define HEAPPROF_CLI_GRAPH_PAGE_H
/* A dump as the page of `heapprof graph view` takes it: JSON that may stand in HTML, as page/README.md says. */
#include "cli/graph/graph.h"
#include "graph/largest.h"

struct cli_graph_page {
    struct cli_graph *graph;     /* with both trees */
    const char *name;            /* of the file */
    uint32_t objects_most;       /* 1 or more: how many that retain most have their references in it, and how many that are
                                    the first of their pattern */
};

/* False: no memory. */
bool cli_graph_page_write(FILE *out, const struct cli_graph_page *page);

#endif
