#ifndef HEAPPROF_CLI_MARKS_H
#define HEAPPROF_CLI_MARKS_H
/* Has the Ruby processes of this host write a profile when their memory crosses a mark: asks each
 * of them once, in a worker. This file knows no sockets. */
#include "attach/host.h"
#include "attach/request.h"
#include "cli/cli.h"
#include "cli/serve/worker.h"

struct cli_marked;

struct cli_marks {
    const struct cli *cli;
    char settings[ATTACH_REQUEST_TEXT_MAX]; /* "": no process is asked */
    int64_t listed_ns;           /* which list was looked at last; 0: none */
    struct cli_marked *all;      /* the processes of that list */
    size_t count, running;       /* running: of workers */
};

/* Reads the options --at and --output. Returns false after telling the user what is wrong. */
bool cli_marks_init(struct cli_marks *marks, const struct cli *cli);

/* Ends all workers. */
void cli_marks_free(struct cli_marks *marks);

/* Whether processes are asked at all. */
bool cli_marks_p(const struct cli_marks *marks);

/* The list of that time is there: asks the processes that were not asked yet. */
void cli_marks_look(struct cli_marks *marks, const struct attach_host *host, int64_t listed_ns);

/* Says what workers that have ended have come to, and starts others. Is called when a child has
 * ended. */
void cli_marks_reap(struct cli_marks *marks);

#endif
