#ifndef HEAPPROF_CLI_VERDICT_H
#define HEAPPROF_CLI_VERDICT_H
/* What `heapprof leak` says of the dumps of one process, in words. */
#include "cli/graph/diff.h"
#include "cli/leak/blocks.h"

#define CLI_LEAK_ROWS_MOST 4

/* A row of the difference: a holder, and what it holds more. */
struct cli_leak_row {
    uint32_t number;             /* of the difference */
    uint64_t outlived_bytes, outlived_objects; /* see verdict.c */
};

/* What one line of the application has allocated, under one set of labels. */
struct cli_leak_line {
    uint32_t site, doing;
    double   bytes, variance;    /* an estimate */
    size_t   group;              /* while it is made: verdict.c */
    uint32_t samples;
};

struct cli_leak_verdict {
    struct cli   cli;            /* as if `graph diff` had been called */
    struct cli_graph_diff diff;
    struct cli_leak_row *rows;   /* those that grew, the largest first */
    size_t       row_count;
    struct cli_leak_line *lines; /* of these, the largest first */
    size_t       line_count;
    double       bytes_of_lines;
    double       lineless;       /* bytes of these that no line is known of */
    size_t       lineless_row;   /* the row that most of them are in */
    int64_t      growth;         /* bytes of the rows */
    double       seconds;        /* from the first dump to the last */
    double       later_seconds;  /* from the last but one to the last */
    int64_t      later;          /* bytes of growth and outside in that time */
    uint64_t     requests;       /* that began in this time; 0: none, or not counted */
    int64_t      resident;       /* bytes that RSS grew */
    int64_t      outside;        /* bytes of that which neither objects nor the profiler explain;
                                    0: no more than usual */
    uint64_t     threads, fibers; /* that are new; 0: their stacks are no large part of outside */
    const struct cli_leak_blocks *blocks; /* of C, by who requested them; NULL: not known */
};

/* Reads the dumps of one process, two or more, and finds what grew. Returns a status; unless it is
 * CLI_DONE, the user was told what is wrong. The caller frees the verdict either way. */
int cli_leak_find(struct cli_leak_verdict *verdict, const struct cli *cli, char **paths,
                  size_t count);
void cli_leak_free(struct cli_leak_verdict *verdict);

/* Whether it is known which objects have outlived a step: there are three dumps or more, and they
 * say which object is which. */
bool cli_leak_steps_p(const struct cli_leak_verdict *verdict);

/* Whether anything grew. */
bool cli_leak_found_p(const struct cli_leak_verdict *verdict);

/* As cli_graph_next_label, without the name of the thread: a thread of a pool says nothing of the
 * request that it has served. */
bool cli_leak_next_label(const char **at, struct cli_graph_label *label);

/* Writes the verdict on one screen, to stdout, which is out. name is the process's: "process 42";
 * pid is 0 if it does not run any more. Returns false if there is no memory. */
bool cli_leak_put(FILE *out, const struct cli_leak_verdict *verdict, const char *name, int pid);

/* The same in one line: "process 43: 1.2 MB grew, constant A::B (Array)". */
bool cli_leak_put_line(FILE *out, const struct cli_leak_verdict *verdict, const char *name);

#endif
