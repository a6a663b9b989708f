#ifndef HEAPPROF_CLI_VALGRIND_H
#define HEAPPROF_CLI_VALGRIND_H
/* heapprof memcheck --engine=valgrind: the command under Valgrind, and what this has written of its processes.
 *
 *     DIRECTORY/PID.xml   errors and leaks
 *     DIRECTORY/PID.log   the blocks that are lost, by address */
#include "cli/cli.h"
#include "memcheck/join.h"

/* The command behind Valgrind and its options, up to NULL, in a block from malloc; NULL: it was told why there is none. most: the
 * kinds of leaks that are asked for, up to that; undefined: also uses of undefined values. */
char **cli_valgrind_command(const struct cli *cli, const char *directory, enum memcheck_kind most, bool undefined);
void cli_valgrind_command_free(char **command);

/* What the processes have left, to be freed: documents, and a list of blocks for each. False: it was told what is wrong; what is
 * there is good. */
struct cli_valgrind {
    struct memcheck_valgrind found;
    struct memcheck_block_list *lists;
};

bool cli_valgrind_read(const struct cli *cli, struct cli_valgrind *valgrind, const char *directory);
void cli_valgrind_free(struct cli_valgrind *valgrind);

#endif
