#ifndef HEAPPROF_CLI_GRAPH_ORDER_H
#define HEAPPROF_CLI_GRAPH_ORDER_H
/* Dumps of one process in the order in which it has written them. */
#include "cli/cli.h"

/* Puts the operands in that order, and says so on stderr if it was another one. Dumps of several
 * processes, and dumps that cannot be read twice or do not say which they are, stay as they are:
 * what reads them tells what is wrong. */
void cli_graph_order(const struct cli *cli);

#endif
