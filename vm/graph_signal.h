#ifndef HEAPPROF_VM_GRAPH_SIGNAL_H
#define HEAPPROF_VM_GRAPH_SIGNAL_H

/* Reads RUBY_HEAPGRAPH (NULL: unset); a signal that it names has the object graph dumped. Names of files are relative to
 * directory, which stays. Once, at boot. */
void rb_heapprof_graph_signal_start(const char *settings, const char *directory);

#endif
