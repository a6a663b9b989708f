#ifndef HEAPPROF_CLI_PROCESSES_H
#define HEAPPROF_CLI_PROCESSES_H
/* Files of several processes, as a server with workers leaves them, in columns that can be compared. */
#include <stdbool.h>
#include <stdint.h>

#include "pprof/model.h"

/* What report_groups_make gets. */
struct cli_processes {
    const struct heapprof_model **models; /* so many together make a column */
    uint32_t *types;    /* by model: which value */
    uint32_t count;     /* of models */
    uint32_t together;  /* processes that are added up; 0: each file is a column */
    uint32_t files;     /* that are used; their names have moved to the beginning of names */
};

/* Puts three or more files, in the order of their times, into columns. If they come from several processes, each
 * column has one file of each process: the first column has the first files, the last column the last files.
 * Otherwise each file is a column; so it is if a file does not say which process wrote it. A process with a
 * single file, among processes with several, cannot have grown: it is left out. Returns false if there is no
 * memory. Free the result either way; the caller keeps the models. */
bool cli_processes_find(struct cli_processes *processes, struct heapprof_model *const *models, const uint32_t *types,
                        const char **names, uint32_t count);
void cli_processes_free(struct cli_processes *processes);

#endif
