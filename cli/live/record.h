#ifndef HEAPPROF_CLI_RECORD_H
#define HEAPPROF_CLI_RECORD_H
/* What `record` knows: it looks (record_looks.c), and writes what it saw (record_save.c). */
#include "attach/origin.h"
#include "attach/processes.h"
#include "attach/record.h"
#include "cli/child.h"
#include "cli/cli.h"

#define RECORD_SECOND_NS INT64_C(1000000000)

struct record_session {
    struct cli *cli;
    struct attach_record record;
    struct attach_processes processes;
    struct cli_child *child;                /* NULL if no command was given */
    int64_t  period_ns, began_ns, end_ns;   /* end_ns: 0 if there is no end */
    int64_t  wall_began_ns;
    int64_t  refresh_ns;                    /* when new processes are looked for next */
    uint64_t asked, taken, late;
    bool     memory;                        /* memory ran out */
    char     origin[ATTACH_ORIGIN_TEXT_MAX]; /* of the first process, as first seen; or "" */
};

/* Looks at all processes until the time is over, none is left, or a signal comes. */
void record_look(struct record_session *session);

/* Returns false after telling the user that nothing can be written where the result belongs. */
bool record_writable_p(const struct cli *cli);

/* Writes what was seen, and says how much it is. Returns a status. */
int record_save(struct record_session *session);

#endif
