#ifndef HEAPPROF_CLI_ATTACH_H
#define HEAPPROF_CLI_ATTACH_H
/* What the commands that read a running Ruby share. */
#include "attach/look.h"
#include "cli/cli.h"
#include "report/json.h"

enum cli_attach_to {CLI_ATTACH_PROCESS, CLI_ATTACH_CORE, CLI_ATTACH_AND_SIGNAL,
                    CLI_ATTACH_AND_ALARMS};

/* The process that an operand means: by its number, or by the name that it alone has. Returns false
 * after telling the user what to type. */
bool cli_attach_pid(const struct cli *cli, const char *name, int64_t *pid);

/* Opens the process with that PID or name, or the core in that file. After that, this program keeps
 * only the rights to read it. With CLI_ATTACH_AND_SIGNAL it also keeps the right to send it
 * signals. Returns NULL after telling the user why it failed. */
struct attach_target *
cli_attach_open(const struct cli *cli, const char *name, enum cli_attach_to to);

/* The same for a process that is known by its number. */
struct attach_target *
cli_attach_open_pid(const struct cli *cli, int64_t pid, enum cli_attach_to to);

/* stop is "auto", "always", "never", or NULL for the default. */
enum attach_look_mode cli_attach_mode(const char *stop);

/* Returns false after telling the user that --native does not go with --stop=never. */
bool cli_attach_native_usable_p(const struct cli *cli);

/* Whether the user wants C functions, and whether those of Ruby, too. */
enum attach_native_which cli_attach_native(const struct cli *cli);

/* The options' rows in a command's table. */
#define CLI_NATIVE_OPTIONS \
    { CLI_NATIVE, NULL, "Also show the C functions that C methods call" }, \
    { CLI_NATIVE_ALL, NULL, "Also show the C functions of Ruby itself" }

/* Writes a member whose value is a string of names. */
void cli_attach_json_name(struct report_json *json, const char *key,
                          const struct attach_names *names, uint32_t string);

/* Reads the heap profile of a process as a model, which the caller frees. Returns NULL if it
 * fails; error says why. */
struct heapprof_model *cli_attach_heap(struct attach_vm *vm, struct attach_stop *stop,
                                       char error[ATTACH_TARGET_ERROR_MAX]);

#endif
