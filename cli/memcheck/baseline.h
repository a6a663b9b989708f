#ifndef HEAPPROF_CLI_MEMCHECK_BASELINE_H
#define HEAPPROF_CLI_MEMCHECK_BASELINE_H
/* --baseline and --write-baseline of heapprof memcheck. Both return false after telling the user
 * what is wrong, and true if the option is not given. */
#include "cli/memcheck/run.h"

bool cli_memcheck_read_baseline(struct cli_memcheck_run *run);

/* Writes the causes of what is shown, and of what is in the baseline and was found again. */
bool cli_memcheck_write_baseline(const struct cli_memcheck_run *run);

#endif
