#ifndef HEAPPROF_CLI_MEMCHECK_RUN_H
#define HEAPPROF_CLI_MEMCHECK_RUN_H
/* A command that heapprof memcheck runs, and what its processes have left. */
#include <limits.h>

#include "cli/memcheck/valgrind.h"
#include "memcheck/judge.h"

struct cli_memcheck_run {
    struct cli *cli;
    struct memcheck_question question;
    struct memcheck_suppressions suppressions;
    long   exitcode, timeout;          /* timeout: seconds; 0: none */
    char   directory[PATH_MAX];
    struct memcheck_process *processes;
    size_t count, capacity;
    struct cli_valgrind valgrind;
    bool   wrong;                      /* something was told that keeps the report from being whole */
};

/* Reads what is in the directory into processes, and removes it. What is wrong is told. */
void cli_memcheck_collect(struct cli_memcheck_run *run);
void cli_memcheck_run_free(struct cli_memcheck_run *run);

#endif
