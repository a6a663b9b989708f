#ifndef HEAPPROF_CLI_GRAPH_WAYS_H
#define HEAPPROF_CLI_GRAPH_WAYS_H
/* All paths to one object, one after the other: each path that was found is closed, and
 * graph_shortest finds the next one in what is still open. */
#include "cli/graph/graph.h"

struct cli_graph_ways {
    const struct cli_graph *graph;
    uint32_t object;
    struct graph_closed closed;
    uint32_t *depths;            /* by object: its own on the chain, otherwise that of the nearest
                                    object of the chain that keeps it; 0: not known yet */
    uint32_t *entries;           /* by object of the chain: open references to it from objects
                                    that it does not keep */
    uint8_t  *chain;             /* by object: on the chain */
};

/* Opens all paths to an object that roots reach. Returns false if there is no memory. The caller
 * ends the search either way. */
bool cli_graph_ways_begin(struct cli_graph_ways *ways, const struct cli_graph *graph,
                          uint32_t object);
void cli_graph_ways_end(struct cli_graph_ways *ways);

/* Closes the objects of a path except the chain, and the references between objects of the chain
 * that are not the only entry. What is above the class at which the path begins stays open: other
 * ways to a class are no news. Sets any if something was closed. Returns false if there is no
 * memory. */
bool cli_graph_ways_close(struct cli_graph_ways *ways, const struct graph_tree *tree, bool *any);

#endif
