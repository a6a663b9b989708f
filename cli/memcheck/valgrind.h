#ifndef HEAPPROF_CLI_VALGRIND_H
#define HEAPPROF_CLI_VALGRIND_H
/* heapprof memcheck --engine=valgrind: the command under Valgrind, and what Valgrind has written
 * about its processes.
 *
 *     DIRECTORY/PID.xml   errors and leaks
 *     DIRECTORY/PID.log   the blocks that are lost, by address */
#include "cli/cli.h"
#include "memcheck/join.h"

/* Returns the command line, in a block from malloc: Valgrind, its options, and the command, up
 * to NULL. Returns NULL after telling the user why it failed. most is the last kind of leak that
 * is reported; all kinds before it are reported, too. If undefined is true, uses of undefined
 * values are reported, too. */
char **cli_valgrind_command(const struct cli *cli, const char *directory, enum memcheck_kind most,
                            bool undefined);
void cli_valgrind_command_free(char **command);

/* What the processes have left: documents, and a list of blocks for each. The caller frees it.
 * cli_valgrind_read returns false after telling the user what is wrong; what it has read then is
 * still good. */
struct cli_valgrind {
    struct memcheck_valgrind found;
    struct memcheck_block_list *lists;
};

bool cli_valgrind_read(const struct cli *cli, struct cli_valgrind *valgrind, const char *directory);
void cli_valgrind_free(struct cli_valgrind *valgrind);

#endif
