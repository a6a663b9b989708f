#ifndef HEAPPROF_CLI_WORKER_H
#define HEAPPROF_CLI_WORKER_H
/* A process that reads another one for the server. The server itself never reads the memory of
 * another process. So a process that is slow to read keeps nobody waiting, and a hostile one
 * can hurt only its reader. */
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/serve/confine.h"

struct cli_worker {
    pid_t pid;   /* a child of ours, until poll says that it has ended; 0: none */
    int   fd;    /* a file in memory, which has the result; -1: none */
};

/* What a worker does: writes the body to out, and returns the HTTP status. If that is not 200, the
 * body is the line in error instead. */
#define CLI_WORKER_ERROR_MAX 480
typedef int cli_worker_run_i(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX]);

/* Starts a worker. Returns false without a process or memory for it. */
bool cli_worker_start(struct cli_worker *worker, cli_worker_run_i *run, void *data,
                      const struct cli_confinement *confinement);

/* Ends the worker. poll will say so. */
void cli_worker_kill(const struct cli_worker *worker);

/* Returns false if the worker runs. Otherwise *status is its HTTP status; or 0 if it ended
 * otherwise, and error says how. The body begins at CLI_WORKER_BODY in fd, and is *size bytes. The
 * file changes no more. */
#define CLI_WORKER_BODY 4
bool cli_worker_poll(struct cli_worker *worker, int *status, size_t *size,
                     char error[CLI_WORKER_ERROR_MAX]);

/* Closes the file. The worker has ended, or was never started. */
void cli_worker_free(struct cli_worker *worker);

#endif
