#ifndef HEAPPROF_CLI_SETTINGS_H
#define HEAPPROF_CLI_SETTINGS_H
/* The settings of a run that a running process is asked to begin. */
#include "attach/request.h"
#include "cli/cli.h"

/* Writes what --interval, --malloc, --at and --output say, as RUBY_HEAPPROF has it. A relative name
 * of a file becomes absolute; one without %p gets one. Returns false after telling the user what is
 * wrong. */
bool cli_settings_of_run(const struct cli *cli, char text[ATTACH_REQUEST_TEXT_MAX]);

#endif
