#ifndef HEAPPROF_CLI_KINDS_H
#define HEAPPROF_CLI_KINDS_H
/* What kind of file something is, by its first bytes; and which command reads it. */
#include <stdbool.h>
#include <stddef.h>

struct cli_command;

enum cli_kind {
    CLI_KIND_UNKNOWN, CLI_KIND_PROFILE, CLI_KIND_GRAPH, CLI_KIND_CORE, CLI_KIND_PAGE, CLI_KIND_JSON
};

#define CLI_KIND_BYTES 256 /* as many of the first bytes are looked at, or less */

enum cli_kind cli_kind_of(const void *bytes, size_t size);

/* CLI_KIND_UNKNOWN if the file cannot be read, or is no regular file. */
enum cli_kind cli_kind_of_file(const char *path);

/* Writes what a file of that kind is, and what to type instead of the command: "is an object
 * graph; type heapprof graph top a.rbgraph". command may be NULL. Returns false, and writes
 * nothing, if the kind is not known, or if it is one that the command reads. */
#define CLI_KIND_ADVICE_MAX 512
bool cli_kind_advise(char advice[CLI_KIND_ADVICE_MAX], enum cli_kind kind,
                     const struct cli_command *command, const char *path);

#endif
