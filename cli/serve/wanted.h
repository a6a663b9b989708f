#ifndef HEAPPROF_CLI_WANTED_H
#define HEAPPROF_CLI_WANTED_H
/* What a request asks heapprof serve for. This file uses no sockets. */
#include <stdbool.h>
#include <sys/types.h>

#include "cli/serve/request.h"

enum cli_wanted_kind {
    CLI_WANTED_INDEX,     /* the processes, as a page */
    CLI_WANTED_TARGETS,   /* the processes, for scrapers */
    CLI_WANTED_PAGE,      /* the profiles of a process, as a page */
    CLI_WANTED_HEAP,
    CLI_WANTED_ALLOCS,
    CLI_WANTED_THREADS,
    CLI_WANTED_PROFILE
};

struct cli_wanted {
    enum cli_wanted_kind kind;
    pid_t  pid;      /* 0 for INDEX and TARGETS */
    double seconds;  /* PROFILE: how long. HEAP, ALLOCS: the changes of that time; 0: no changes */
    bool   text;     /* HEAP, ALLOCS: as text */
};

/* How many seconds a profile over time takes if the request does not say. */
#define CLI_WANTED_SECONDS 10

#define CLI_WANTED_LINE_MAX 256

/* Returns 0, and fills wanted; or returns an HTTP status, and line says what is wrong. longest
 * is the most seconds that may be asked for. */
int cli_wanted_read(const struct cli_request *request, int longest, struct cli_wanted *wanted,
                    char line[CLI_WANTED_LINE_MAX]);

#endif
