#ifndef HEAPPROF_CLI_GRAPH_PAGE_H
#define HEAPPROF_CLI_GRAPH_PAGE_H
/* A dump as the page of `heapprof graph view` takes it: JSON that may stand in HTML, as page/README.md says. */
#include "cli/graph.h"
#include "graph/largest.h"

struct cli_graph_page {
    struct cli_graph *graph;     /* with both trees */
    const char *name;            /* of the file */
    uint32_t objects_most;       /* how many have all that is known of them in it, besides the suspects; 1 or more */
};

/* False: no memory. */
bool cli_graph_page_write(FILE *out, const struct cli_graph_page *page);

#endif
