#ifndef HEAPPROF_CLI_PS_READ_H
#define HEAPPROF_CLI_PS_READ_H
/* What `ps` knows of each process of the host. A copy of this program reads them, so a process that
 * keeps its reader waiting holds up one row, and no more. */
#include "attach/host.h"

enum ps_kind {
    PS_OTHER,      /* no Ruby */
    PS_HIDDEN,     /* it may not be read, so whether it is a Ruby is not known */
    PS_UNREADABLE, /* it seems to be a Ruby; reason says why it cannot be read */
    PS_RUBY
};

struct ps_row {
    struct attach_host_process process;
    enum ps_kind kind;
    uint64_t threads, rss_bytes;
    uint64_t heap_bytes;     /* of its objects that are alive; 0: unknown */
    bool     profiled;
    char     now[256];       /* what it is doing: a place in the program, "idle", or "stopped" */
    char     reason[ATTACH_TARGET_ERROR_MAX];
};

struct ps_rows {
    struct ps_row *all;      /* Rubies, and those that seem to be; the largest RSS first */
    size_t count, capacity;
    size_t hidden;
};

/* Reads all processes. Returns false without memory, or if there is no /proc. */
bool ps_rows_read(struct ps_rows *rows);
void ps_rows_free(struct ps_rows *rows);

#endif
