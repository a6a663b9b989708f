#ifndef HEAPPROF_CLI_SERIES_H
#define HEAPPROF_CLI_SERIES_H
/* Where a command that reads a process writes what it has read: one file, or with --every one after
 * the other, of which --keep are kept (profiler/series.h). */
#include <limits.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "profiler/series.h"

struct cli_series {
    const struct cli *cli;
    double   every;              /* seconds; 0: there is one file */
    long     keep;
    struct heapprof_series files;
    char     program[64];        /* for %e */
    char     path[PATH_MAX];     /* of the last file */
};

/* Reads --every and --keep. Returns false after telling the user what is wrong. */
bool cli_series_options(struct cli_series *series, const struct cli *cli);

/* Begins the files of that process. Without --output their names begin with heapprof-PID and the
 * ending, as "" or "-time", and such a file never takes the place of another. If newest is set, the
 * newest files are kept. If not, the first is kept, and the rest is thinned. Returns false after
 * telling the user what is wrong. */
bool cli_series_begin(struct cli_series *series, pid_t pid, const char *ending, bool newest);

/* The path of the next file; NULL after telling the user what is wrong. When the file is there,
 * written is called, which may remove an older one. */
const char *cli_series_next(struct cli_series *series);
void cli_series_written(struct cli_series *series);

/* The last path as the user would write it: from the present directory, if the template is. */
const char *cli_series_name(const struct cli_series *series);

void cli_series_free(struct cli_series *series);

#endif
