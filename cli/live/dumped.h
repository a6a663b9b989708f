#ifndef HEAPPROF_CLI_DUMPED_H
#define HEAPPROF_CLI_DUMPED_H
/* A dump of the object graph of a running process, for `graph dump` and `leak`. */
#include "attach/graph_request.h"
#include "cli/live/ask.h"

/* Asks the process for a dump, and waits until the file is there, or it is known that there will be
 * none: request->state says which. `seconds` is how long the process may take until it begins. ask
 * says how a process is asked that was started without a signal for it. Returns false if it was not
 * asked; ask->error says why. */
bool cli_dumped(const struct cli *cli, struct attach_graph_request *request, struct attach_vm *vm,
                struct cli_ask *ask);

/* Says what came of it, if there is no file. Returns CLI_WRONG. */
int cli_dumped_wrong(const struct cli *cli, const struct attach_graph_request *request);

/* Where this program finds the file that the process has written: in the file system of the
 * process. */
#define CLI_DUMPED_PATH_MAX (ATTACH_GRAPH_ANSWER_MAX + 32)
void cli_dumped_path(char path[CLI_DUMPED_PATH_MAX], const struct attach_graph_request *request);

#endif
