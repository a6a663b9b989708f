#ifndef GRAPH_KEYS_H
#define GRAPH_KEYS_H
#include "graph/graph.h"

/* Labels the values of Hashes by their String keys, "[\"tenant-1\"]", as far as the dump has the
 * content of these. */
void graph_name_keys(struct graph *graph);

#endif
