#ifndef GRAPH_TRACES_H
#define GRAPH_TRACES_H
/* Allocation stacks in the format of V8's heap snapshots: a tree of calls. Nodes refer to it by
 * number.
 *
 *     functions  6 numbers each: number, name, file, 0, line, 0      number 0 is the root
 *     tree       5 things each: id, function, count, bytes, [calls]
 *                the id of the root is 1, that of any other node is the stack's number + 1
 */
#include <stdio.h>

#include "graph/dominators.h"

struct graph_traces {
    struct graph_space *space;
    uint32_t *functions;         /* function of each stack */
    uint32_t *firsts;            /* by function, from 1 on: a stack with this innermost frame */
    uint32_t  function_count;    /* counts the root, too */
    uint32_t *called, *next;     /* by stack: its first callee; the next callee of the same
                                    caller */
    double   *counts, *bytes;    /* by stack: of live objects allocated there */
    size_t    functions_capacity, firsts_capacity, called_capacity, next_capacity, counts_capacity,
              bytes_capacity;
};

/* Returns false if there is no memory. The caller frees the traces either way, before the
 * graph. */
bool graph_traces_make(struct graph_traces *traces, struct graph *graph,
                       const struct graph_dominators *dominators);
void graph_traces_free(struct graph_traces *traces);

/* The id of an object's node in the tree; 0 if its stack is not known. */
uint32_t graph_trace(const struct graph *graph, uint32_t object);

/* Write the contents of the two lists, without the brackets. A string of the dump has its
 * number plus first_string in the file; root is the file's string for the root. */
void graph_traces_put_functions(FILE *out, const struct graph_traces *traces,
                                const struct graph *graph, uint32_t first_string, uint32_t root);
void graph_traces_put_tree(FILE *out, const struct graph_traces *traces,
                           const struct graph *graph);

#endif
