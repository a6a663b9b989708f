#ifndef HEAPPROF_VM_GRAPH_WRITE_H
#define HEAPPROF_VM_GRAPH_WRITE_H
#include "vm/graph/graph.h"

/* What the two processes tell each other, in shared memory. */
struct heapprof_graph_shared {
    int64_t  pause_ns;           /* the parent sets it; 0: not yet */
    uint64_t bytes;              /* of the file; the child sets this and the rest */
    int      error;              /* errno, or 0 */
    bool     written;            /* all records are; only the file's name is left to do */
    bool     done;               /* the file has its name, or has been removed */
};

/* Writes all of the file. Returns 0, or errno. A child passes what it shares with its parent,
 * else NULL. */
int rb_heapprof_graph_write(struct heapprof_graph_dump *dump,
                            const struct heapprof_graph_shared *shared);

/* Writes the graph to nowhere, in place. Builds with HEAPPROF_CHECK hold each object's references
 * against what the collector marks. */
void rb_heapprof_graph_check(void);

#endif
