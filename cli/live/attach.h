#ifndef HEAPPROF_CLI_ATTACH_H
#define HEAPPROF_CLI_ATTACH_H
/* What the commands that read a running Ruby share. */
#include "attach/look.h"
#include "cli/cli.h"

enum cli_attach_to {CLI_ATTACH_PROCESS, CLI_ATTACH_CORE, CLI_ATTACH_AND_SIGNAL};

/* Opens the process with that PID, or the core in that file. After that, this program keeps only
 * the rights to read it. With CLI_ATTACH_AND_SIGNAL it also keeps the right to send it signals.
 * Returns NULL after telling the user why it failed. */
struct attach_target *
cli_attach_open(const struct cli *cli, const char *name, enum cli_attach_to to);

/* stop is "auto", "always", "never", or NULL for the default. */
enum attach_look_mode cli_attach_mode(const char *stop);

/* Reads the heap profile of a process as a model, which the caller frees. Returns NULL if it
 * fails; error says why. */
struct heapprof_model *cli_attach_heap(struct attach_vm *vm, struct attach_stop *stop,
                                       char error[ATTACH_TARGET_ERROR_MAX]);

#endif
