#ifndef HEAPPROF_CLI_TIMED_H
#define HEAPPROF_CLI_TIMED_H
/* A profile over time of heapprof serve. */
#include <stdint.h>
#include <stdio.h>

#include "attach/peer.h"
#include "cli/serve/worker.h"

/* Records the process for that many seconds, or until it ends. Writes the profile to out. peer is
 * as in cli/serve/answers.h: its rights are checked at the end. Returns an HTTP status; if it is
 * not 200, error says why. */
int cli_timed_record(pid_t pid, double seconds, const struct attach_peer *peer, FILE *out,
                     char error[CLI_WORKER_ERROR_MAX]);

void cli_timed_sleep_until(int64_t monotonic_ns);

#endif
