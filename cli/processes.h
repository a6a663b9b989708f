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

/* Of three files and more, in the order of their times, of which some are of one process and some of others: each
 * column has of each process a file, the first column the first one, the last column the last. Others, and
 * files that do not say whose they are, have a column each. A process with a single file among series has not
 * grown, and is left out. False: no memory. Free it either way; the models stay the caller's. */
bool cli_processes_find(struct cli_processes *processes, struct heapprof_model *const *models, const uint32_t *types,
                        const char **names, uint32_t count);
void cli_processes_free(struct cli_processes *processes);

#endif
