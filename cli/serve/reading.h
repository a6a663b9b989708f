#ifndef HEAPPROF_CLI_READING_H
#define HEAPPROF_CLI_READING_H
/* What a worker of heapprof serve does: it reads a process, or lists all of the host. */
#include "cli/serve/answers.h"
#include "cli/serve/wanted.h"
#include "cli/serve/worker.h"

struct cli_reading {
    struct cli_wanted wanted;
    bool     for_all;            /* the client has the token */
    struct attach_peer peer;     /* otherwise, the client */
    const struct attach_host *host;  /* for INDEX and TARGETS: the list of processes */
    const char *address;             /* how the client called this host */
};

/* A cli_worker_run_i with a struct cli_reading as data. Checks the peer's rights before and after
 * it reads. */
int cli_reading_run(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX]);

/* A cli_worker_run_i that lists the processes of this host anew. data is the last list, a struct
 * attach_host. */
int cli_reading_list(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX]);

/* Reads from fd what cli_reading_list has written there. Returns false, and leaves the host as it
 * was, if it is no list. */
bool cli_reading_take_list(struct attach_host *host, int fd, size_t size);

/* The MIME type of what is wanted, and the name of its file; NULL if the browser shows it. */
const char *cli_reading_type(const struct cli_wanted *wanted);
const char *cli_reading_download(const struct cli_wanted *wanted);

#endif
