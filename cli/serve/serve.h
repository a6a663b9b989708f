#ifndef HEAPPROF_CLI_SERVE_H
#define HEAPPROF_CLI_SERVE_H
/* heapprof serve, of which the server is another file than the command. */
#include "cli/cli.h"

/* Its options. */
enum {CLI_SERVE_LISTEN = 1};

/* Serves until it is interrupted. A status. */
int cli_serve(struct cli *cli);

#endif
