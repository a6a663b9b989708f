#ifndef HEAPPROF_CLI_SERVE_H
#define HEAPPROF_CLI_SERVE_H
/* heapprof serve. Its command is serve.c, and its server is server.c. */
#include "cli/cli.h"

/* Serves there, ADDRESS:PORT or a path, until it is interrupted. Returns a status. */
int cli_serve(struct cli *cli, const char *where);

#endif
