#ifndef HEAPPROF_VM_GRAPH_SIGNAL_H
#define HEAPPROF_VM_GRAPH_SIGNAL_H
#include <limits.h>
#include <stdint.h>

/* For `heapprof graph dump`, which reads it from outside (the descriptor has it): which signal asks for a dump, and what
 * came of it when one was asked for last. answers grows when all the rest is there. */
struct heapprof_graph_asked {
    uint32_t signal;             /* 0: none */
    uint32_t answers;
    uint32_t begun;              /* 1: a child writes the file that answer names; 0: answer says why not */
    uint32_t child;              /* as this process numbers it; it has written, or has ended, when the next one is begun */
    struct heapprof_graph_shared *shared; /* with it */
    char     answer[PATH_MAX + 128];
};
extern struct heapprof_graph_asked rb_heapprof_graph_asked;

/* Reads RUBY_HEAPGRAPH (NULL: unset); a signal that it names has the object graph dumped. Names of files are relative to
 * directory, which stays. Once, at boot. */
void rb_heapprof_graph_signal_start(const char *settings, const char *directory);

#endif
