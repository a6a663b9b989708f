#ifndef HEAPPROF_CLI_WRITTEN_H
#define HEAPPROF_CLI_WRITTEN_H
/* What `run` says at the end. */
#include <time.h>

#include "cli/cli.h"

/* Says which profiles were written since the start, in a line for each process, and shows what
 * grew. If no process has written several files, it shows what is largest. heapprof is the value
 * of RUBY_HEAPPROF. */
void cli_written_say(const struct cli *cli, const char *heapprof, const struct timespec *start);

#endif
