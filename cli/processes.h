#ifndef HEAPPROF_CLI_PROCESSES_H
#define HEAPPROF_CLI_PROCESSES_H
/* Files of several processes, as a server with workers leaves them, in columns that can be
 * compared. */
#include <stdbool.h>
#include <stdint.h>

#include "pprof/model.h"

/* Returns whether one process has written both files. */
bool cli_processes_same_p(const struct heapprof_model *one, const struct heapprof_model *other);

/* The arguments for report_groups_make. */
struct cli_processes {
    const struct heapprof_model **models; /* each run of together models makes a column */
    uint32_t *types;    /* by model: which of its values */
    uint32_t count;     /* of models */
    uint32_t together;  /* how many processes are added up; 0 if each file is a column */
    uint32_t files;     /* how many are used; their names have moved to the beginning of names */
};

/* Puts three or more files, in the order of their times, into columns. If they come from several
 * processes, each column has one file of each process. The first column has the first files, and
 * the last column the last files. Otherwise each file is a column. Each file is also a column if
 * some file does not say which process wrote it. A process with a single file, among processes
 * with several, is left out: it cannot have grown. Returns false if there is no memory. The
 * caller frees the result either way, and keeps the models. */
bool cli_processes_find(struct cli_processes *processes, struct heapprof_model *const *models,
                        const uint32_t *types, const char **names, uint32_t count);

/* Writes what the files of several processes are called, "2 processes, 8 files". */
#define CLI_PROCESSES_NAME_MAX 64
void cli_processes_name(char text[CLI_PROCESSES_NAME_MAX], const struct cli_processes *processes);

/* Puts the last file of each process into one column, because it has all that was alive then. A
 * file that does not say which process wrote it counts as the only one of its process. Returns
 * false if there is no memory. The caller frees the result either way, and keeps the models. */
bool cli_processes_last(struct cli_processes *processes, struct heapprof_model *const *models,
                        const uint32_t *types, const char **names, uint32_t count);

void cli_processes_free(struct cli_processes *processes);

#endif
