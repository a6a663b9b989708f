#ifndef HEAPPROF_CLI_GRAPH_REPEATS_H
#define HEAPPROF_CLI_GRAPH_REPEATS_H
/* `heapprof graph dups --group holder` and `--group line`. */
#include "cli/graph/graph.h"
#include "graph/repeats.h"

/* Reads the file, and shows so many rows; 0: all. Returns a status. */
int cli_graph_repeats(const struct cli *cli, enum graph_repeats_by by, long rows);

/* Writes the first lines, of all duplicates. */
void cli_graph_put_repeated(const struct graph_duplicates *duplicates);

#endif
