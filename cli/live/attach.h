#ifndef HEAPPROF_CLI_ATTACH_H
#define HEAPPROF_CLI_ATTACH_H
/* What the commands that read a running Ruby have in common. */
#include "attach/look.h"
#include "cli/cli.h"

enum cli_attach_to {CLI_ATTACH_PROCESS, CLI_ATTACH_CORE, CLI_ATTACH_AND_SIGNAL};

/* The process of that number, or the core in that file; from then on we have no rights but those to read, or also to send
 * signals. NULL: it was told why not. */
struct attach_target *cli_attach_open(const struct cli *cli, const char *name, enum cli_attach_to to);

/* "auto", "always", "never", or NULL. */
enum attach_look_mode cli_attach_mode(const char *stop);

/* The heap profile of a process as a model, to be freed. NULL: error says why. */
struct heapprof_model *cli_attach_heap(struct attach_vm *vm, struct attach_stop *stop,
                                       char error[ATTACH_TARGET_ERROR_MAX]);

#endif
