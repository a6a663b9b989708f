#ifndef HEAPPROF_CLI_LISTEN_H
#define HEAPPROF_CLI_LISTEN_H
/* Where heapprof serve listens. */
#include "cli/cli.h"

/* Returns a descriptor that listens at ADDRESS:PORT, or at a path if where has a '/'. Only this
 * user may open the path. Says on stderr where it listens. Returns -1 after telling the user
 * what is wrong; *status is then the command's. If with_token is true, other hosts may connect,
 * too. */
int cli_listen(const struct cli *cli, const char *where, bool with_token, int *status);

#endif
