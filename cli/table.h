#ifndef HEAPPROF_CLI_TABLE_H
#define HEAPPROF_CLI_TABLE_H
/* What top and diff share: their options, and a table of the files' groups. */
#include "cli/cli.h"

/* The options of a command that shows a table. */
#define CLI_TABLE_OPTIONS \
    {CLI_BY, "inuse_space inuse_objects alloc_space alloc_objects peak_space temp_space ...", \
     "Which value to show (default: the one that the file names)"}, \
    {CLI_GROUP, "site function class file gem library app label:KEY", \
     "What samples are added up by (default: app, then site)"}, \
    {CLI_SORT, "self cum objects", \
     "Order of rows: their value, the value with what was called from there, or objects"}, \
    {CLI_COUNT, NULL, "Show at most N rows; 0 shows all (default: 20)"}, \
    {CLI_FOCUS, NULL, \
     "Only samples with a function, file, C function or library that matches (POSIX extended)"}, \
    {CLI_IGNORE, NULL, "Only samples without one that matches"}, \
    {CLI_FOCUS_LABEL, NULL, "Only samples with a label that matches, as endpoint=^/cart"}, \
    {CLI_FRAMES, NULL, "Show the N innermost frames of a call site (default: 3)"}, \
    {CLI_APP, NULL, "Where the application's code is (default: as the file says)"}, \
    {CLI_JSON, NULL, "Write JSON"}, \
    {CLI_MARKDOWN, NULL, "Write a table of Markdown, as for a comment on a pull request"}, \
    {CLI_SARIF, NULL, "Write SARIF 2.1.0: rows as findings at lines of source"}, \
    {CLI_GITHUB, NULL, "Write a ::warning of GitHub's workflows for each row (the first 10)"}, \
    CLI_OUTPUT_OPTION

enum cli_table_of {CLI_TABLE_OF_SUM, CLI_TABLE_OF_GROWTH};

/* For the description of these commands. */
#define CLI_TABLE_FINDINGS_HELP \
    "--sarif and --github write rows at their lines of source: by lines of the application, or,\n" \
    "if none is known, by call site. Files are named as they are below the application's\n" \
    "directory; --app=DIR says where that was."

/* Shows all operands added up, or side by side. Returns a status. */
int cli_table(struct cli *cli, enum cli_table_of of);

#endif
