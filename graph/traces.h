#ifndef GRAPH_TRACES_H
#define GRAPH_TRACES_H
/* Allocation stacks as V8's heap snapshots have them: a tree of calls, which nodes refer to by number.
 *
 *     functions  6 numbers each: number, name, file, 0, line, 0         number 0 is the root
 *     tree       5 things each: id, function, count, bytes, [calls]     id 1 is the root, all else the stack's number and 1
 */
#include <stdio.h>

#include "graph/dominators.h"

struct graph_traces {
    struct graph_space *space;
    uint32_t *functions;         /* by stack */
    uint32_t *firsts;            /* by function, from 1 on: a stack whose innermost frame it is */
    uint32_t  function_count;    /* with the root */
    uint32_t *called, *next;     /* by stack: the first that it calls; the next one of the same caller */
    double   *counts, *bytes;    /* by stack: of what was allocated there and is alive */
    size_t    functions_capacity, firsts_capacity, called_capacity, next_capacity, counts_capacity, bytes_capacity;
};

/* False: no memory. Free it either way, before the graph. */
bool graph_traces_make(struct graph_traces *traces, struct graph *graph,
                       const struct graph_dominators *dominators);
void graph_traces_free(struct graph_traces *traces);

/* The id of an object's node; 0: its stack is not known. */
uint32_t graph_trace(const struct graph *graph, uint32_t object);

/* What stands in the brackets of the two lists. Numbers of strings in the file: the dump's and first_string; that of the root. */
void graph_traces_put_functions(FILE *out, const struct graph_traces *traces,
                                const struct graph *graph, uint32_t first_string, uint32_t root);
void graph_traces_put_tree(FILE *out, const struct graph_traces *traces,
                           const struct graph *graph);

#endif
