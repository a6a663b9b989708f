#ifndef HEAPPROF_CLI_DUMPED_H
#define HEAPPROF_CLI_DUMPED_H
/* A dump of the object graph of a running process, for `graph dump` and `leak`. */
#include "attach/graph_request.h"
#include "cli/live/ask.h"

struct cli_dumped {
    struct attach_graph_request request;
    char text[ATTACH_REQUEST_TEXT_MAX]; /* what the name of the file is made of, if it was asked */
};

/* Asks the process for a dump. ask says how long it may take until it begins, and how a process is
 * asked that was started without a signal for it. Returns false if it was not asked; ask->error
 * says why. Several processes may write at a time. */
bool cli_dumped_begin(const struct cli *cli, struct cli_dumped *dumped, struct attach_vm *vm,
                      struct cli_ask *ask);

/* Waits until the file is there. Returns a status; unless it is CLI_DONE, the user was told why
 * there is none. */
int cli_dumped_wait(const struct cli *cli, struct cli_dumped *dumped, long seconds);

/* Where this program finds the file that the process has written: in the file system of the
 * process. */
#define CLI_DUMPED_PATH_MAX (ATTACH_GRAPH_ANSWER_MAX + 32)
void cli_dumped_path(char path[CLI_DUMPED_PATH_MAX], const struct attach_graph_request *request);

#endif
