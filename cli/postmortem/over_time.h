#ifndef CLI_OVER_TIME_H
#define CLI_OVER_TIME_H
/* Memory in use over time: a row for each line of the application, or value of a label, and a
 * column for each file. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"

#define CLI_OVER_TIME_COLUMNS 6

struct cli_over_time {
    const struct heapprof_model *models[CLI_OVER_TIME_COLUMNS]; /* in the order of their times */
    uint32_t types[CLI_OVER_TIME_COLUMNS];                      /* which of their values */
    uint32_t count;
};

/* The first row of a table, in words. */
struct cli_over_time_first {
    char *title;                 /* what the row is called, in a block from malloc; or NULL */
    const char *what;            /* "line of the application", or "function" if it has no line */
};

/* Writes the rows that grew most from the first file to the last; of one file, the largest. The
 * heading is the title, "line" or "function", and the end. `first` may be NULL. Returns false if
 * there is no memory. */
bool cli_over_time_lines(FILE *out, const struct cli_over_time *files, const char *title,
                         const char *end, struct cli_over_time_first *first);

/* The same for each label that the program has given; nothing if it has given none. */
bool cli_over_time_labels(FILE *out, const struct cli_over_time *files);

#endif
