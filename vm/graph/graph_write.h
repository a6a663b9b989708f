#ifndef HEAPPROF_VM_GRAPH_WRITE_H
#define HEAPPROF_VM_GRAPH_WRITE_H
#include "vm/graph/graph.h"

/* What the two processes tell each other. */
struct heapprof_graph_shared {
    int64_t  pause_ns;           /* by the parent; 0: not known yet */
    uint64_t bytes;              /* by the child, */
    int      error;              /* as what follows */
    bool     written;            /* all but the file's name: what is left takes no time of the program's */
    bool     done;               /* the file is there, or has been removed */
};

/* Writes all of the file. Returns 0, or errno. A child passes what it shares with its parent, else NULL. */
int rb_heapprof_graph_write(struct heapprof_graph_dump *dump, const struct heapprof_graph_shared *shared);

/* Writes the graph to nowhere, in place. Builds with HEAPPROF_CHECK hold each object's references
 * against what the collector marks. */
void rb_heapprof_graph_check(void);

#endif
