#ifndef HEAPPROF_CLI_NAMED_H
#define HEAPPROF_CLI_NAMED_H
/* A process that the command line calls by its name: "puma". */
#include <sys/types.h>

#include "cli/cli.h"

/* Finds the one Ruby process of this host that has this name (attach/host.h), and says on stderr
 * which it is. Returns 0 after telling the user what to type, if there is none, or several. */
pid_t cli_named(const struct cli *cli, const char *name);

#endif
