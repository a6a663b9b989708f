#ifndef HEAPPROF_CLI_RECORD_H
#define HEAPPROF_CLI_RECORD_H
/* What `record` knows: it looks (record_looks.c), and writes what it saw (record_save.c), or
 * prints it (record_table.c). With
 * --every it begins again after each file, so memory and files are bounded however long it runs. */
#include "attach/processes.h"
#include "attach/record.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/live/series.h"

#define RECORD_SECOND_NS INT64_C(1000000000)

struct record_session {
    struct cli *cli;
    struct attach_record record;
    struct attach_processes processes;
    struct attach_alarms alarms;            /* mode cpu; elsewhere there are none */
    struct cli_child *child;                /* NULL if no command was given */
    int64_t  period_ns, end_ns;             /* end_ns: 0 if there is no end */
    int64_t  wall_began_ns;
    bool     memory;                        /* memory ran out */
    struct attach_record_options options;
    long     rows;                          /* of the table of --group; 0: all */
    struct cli_series series;
    int64_t  next_file_ns;                  /* with --every */
    int      status;                        /* of the files that have been written */
};

/* Begins a record at that time. */
void record_begin(struct record_session *session, int64_t now_ns);

/* Looks at all processes until the time is over, none is left, or a signal comes. */
void record_look(struct record_session *session);

/* Returns false after telling the user that nothing can be written where the result belongs. */
bool record_writable_p(const struct record_session *session);

/* Writes what was seen, and says how much it is. Returns a status. */
int record_save(struct record_session *session);

/* Prints the table of --group. Returns a status. */
int record_show(const struct record_session *session, const struct heapprof_model *model);

#endif
