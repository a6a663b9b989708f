#ifndef HEAPPROF_VM_GRAPH_CHILD_H
#define HEAPPROF_VM_GRAPH_CHILD_H
#include "vm/graph/graph.h"

/* Memory that the parent and its child share, all zeros. Returns NULL if there is none. */
struct heapprof_graph_shared *rb_heapprof_graph_share(void);
void rb_heapprof_graph_unshare(struct heapprof_graph_shared *shared);

/* Makes a copy of this thread alone, which writes the dump. Returns its pid, or -1 if the system
 * refuses one. All ractors are stopped. */
pid_t
rb_heapprof_graph_clone(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared);

/* Waits until the child has ended. Returns 0, or errno. Gives up the GVL, and may raise; then it
 * has ended the child and unmapped `shared`. */
int rb_heapprof_graph_wait(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared,
                           pid_t child);

#endif
