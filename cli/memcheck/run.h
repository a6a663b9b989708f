#ifndef HEAPPROF_CLI_MEMCHECK_RUN_H
#define HEAPPROF_CLI_MEMCHECK_RUN_H
/* A command that heapprof memcheck runs, and the files that its processes have left. */
#include <limits.h>

#include "cli/memcheck/valgrind.h"
#include "memcheck/judge.h"

struct cli_memcheck_run {
    struct cli *cli;
    struct memcheck_question question;
    struct memcheck_suppressions suppressions;
    struct memcheck_baseline baseline;
    long   exitcode, timeout;          /* timeout: seconds, or 0 for none */
    size_t quarantine_bytes;           /* dead objects that are held back; 0: none */
    long   gc_stress;                  /* a GC at each allocation of this number; 0: none */
    char   directory[PATH_MAX];
    struct memcheck_process *processes;
    size_t count, capacity;
    struct cli_valgrind valgrind;
    bool   wrong;                      /* an error was told; the report is not complete */
};

/* Reads the files of the directory into processes, and removes the directory. Tells the user
 * what is wrong. */
void cli_memcheck_collect(struct cli_memcheck_run *run);
void cli_memcheck_run_free(struct cli_memcheck_run *run);

#endif
