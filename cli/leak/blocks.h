#ifndef HEAPPROF_CLI_BLOCKS_H
#define HEAPPROF_CLI_BLOCKS_H
/* Which C functions of extensions and libraries have allocated memory that is still in use; and for
 * which lines of the application ruby has. */
#include <stdio.h>

#include "profiler/snapshot.h"

#define CLI_LEAK_BLOCKS_MOST 3
#define CLI_LEAK_BLOCK_TEXT 160

struct cli_leak_block {
    char   function[CLI_LEAK_BLOCK_TEXT]; /* "leak_keep (heapprof_leak.so)" */
    char   line[CLI_LEAK_BLOCK_TEXT];     /* of the application: "app/cart.rb:12 Cart#load"; "" */
    double bytes, variance;
};

struct cli_leak_blocks {
    struct cli_leak_block all[CLI_LEAK_BLOCKS_MOST]; /* the largest first */
    size_t count;
    struct cli_leak_block of_ruby[CLI_LEAK_BLOCKS_MOST]; /* without function, each with a line */
    size_t of_ruby_count;
};

/* Adds up what is in use by function and line, and what ruby itself has allocated by line.
 * directories are the application's (report/own.h). If memory is refused, blocks is empty. */
void cli_leak_blocks_find(struct cli_leak_blocks *blocks, const struct heapprof_snapshot *snapshot,
                          const char *directories);

/* The sum of those that are told. */
double cli_leak_blocks_bytes(const struct cli_leak_blocks *blocks);

/* Writes some of the blocks, each on a line. */
void cli_leak_blocks_put(FILE *out, const struct cli_leak_block *blocks, size_t count);

#endif
