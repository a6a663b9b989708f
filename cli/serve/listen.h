#ifndef HEAPPROF_CLI_LISTEN_H
#define HEAPPROF_CLI_LISTEN_H
/* Where heapprof serve listens. */
#include "cli/cli.h"

/* The listening descriptor at ADDRESS:PORT, or at a path with a '/', which only we may open; says where on stderr. -1: *status is
 * the command's, and it was told what is wrong. with_token: others than this host may connect, too. */
int cli_listen(const struct cli *cli, const char *where, bool with_token, int *status);

#endif
