#ifndef HEAPPROF_BARRIERS_SOURCE_H
#define HEAPPROF_BARRIERS_SOURCE_H
/* Reads a source file by libclang. */
#include "barriers/program.h"

/* How a file is compiled. */
struct wb_command {
    const char  *path;        /* absolute */
    const char  *directory;   /* what relative paths in the flags are relative to, absolute */
    const char **flags;       /* -I, -D and the like */
    unsigned     flag_count;
};

/* What was wrong with a file, in a line each; the first ones of many. */
typedef void wb_problem_i(void *data, const char *problem);

/* Adds what is in that file to the program. False: nothing could be read of it. Each problem is told, also of a file that
 * was read but for some of its lines. */
bool wb_source_read(struct wb_program *program, const struct wb_command *command,
                    wb_problem_i *problem_i, void *data);

#endif
