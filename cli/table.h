#ifndef HEAPPROF_CLI_TABLE_H
#define HEAPPROF_CLI_TABLE_H
/* What top and diff share: their options, and a table of the files' groups. */
#include "cli/cli.h"

/* The options, for the beginning of a command's own options; and their places. */
#define CLI_TABLE_OPTIONS \
    {"--by", 'b', "TYPE", "inuse_space inuse_objects alloc_space alloc_objects ...", \
     "Which value to show (default: the one that the file names)"}, \
    {"--group", 'g', "GROUP", "site function class file gem library app label:KEY", \
     "What samples are added up by (default: app, then site)"}, \
    {"--sort", 0, "ORDER", "self cum objects", \
     "Order of rows: their value, the value with what was called from there, or objects"}, \
    {"--count", 'n', "N", NULL, "Show at most N rows; 0 shows all (default: 20)"}, \
    {"--focus", 'f', "RE", NULL, "Only samples with a function, file, C function or library that matches (POSIX extended)"}, \
    {"--ignore", 'i', "RE", NULL, "Only samples without one that matches"}, \
    {"--frames", 0, "N", NULL, "Show the N innermost frames of a call site (default: 3)"}, \
    {"--app", 0, "DIR", "FILE", "Where the application's code is (default: as the file says)"}, \
    {"--json", 0, NULL, NULL, "Write JSON"}

/* Shows all operands side by side. Returns a status. */
int cli_table(struct cli *cli);

#endif
