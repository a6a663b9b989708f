#ifndef HEAPPROF_BARRIERS_SOURCE_H
#define HEAPPROF_BARRIERS_SOURCE_H
/* Reads one source file by libclang. */
#include "barriers/program.h"

/* How a file is compiled. */
struct wb_command {
    const char  *path;        /* absolute */
    const char  *directory;   /* absolute; relative paths in the flags begin here */
    const char **flags;       /* -I, -D and the like */
    unsigned     flag_count;
    bool         headerless;  /* set when it is read: it includes ruby.h, which is not there */
};

/* Called with a line for each problem of a file, for the first few of many. */
typedef void wb_problem_i(void *data, const char *problem);

/* Adds the contents of a file to the program. Returns false if nothing of it could be read.
 * problem_i is also called for a file of which only some lines could not be read, but not for a
 * headerless one. */
bool wb_source_read(struct wb_program *program, struct wb_command *command,
                    wb_problem_i *problem_i, void *data);

#endif
