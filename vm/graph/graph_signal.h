#ifndef HEAPPROF_VM_GRAPH_SIGNAL_H
#define HEAPPROF_VM_GRAPH_SIGNAL_H
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Which signal asks for a dump, and what came of the last one. `heapprof graph dump` reads it
 * from outside, by the descriptor. answers is written last: when it grows, the other fields are
 * complete. */
struct heapprof_graph_asked {
    uint32_t signal;             /* 0: none */
    uint32_t answers;            /* counts the requests that were answered */
    uint32_t begun; /* 1: a child writes the file that `answer` names; 0: `answer` says why not */
    uint32_t child; /* its pid in this process; it has ended before the next one begins */
    struct heapprof_graph_shared *shared; /* with the child */
    char     answer[PATH_MAX + 128];
};
extern struct heapprof_graph_asked rb_heapprof_graph_asked;

/* Reads RUBY_HEAPGRAPH, whose text is `settings` (NULL: unset). The signal that it names makes
 * the process dump its object graph. Names of files are relative to `directory`, which has to
 * stay. Called once, at boot. */
void rb_heapprof_graph_signal_start(const char *settings, const char *directory);

/* Dumps the object graph for a request from outside, to a file whose absolute name is made of this
 * template (%p, %n). Returns whether a child writes it; the answer says the rest. Called by our
 * thread, with the GVL. */
bool rb_heapprof_graph_dump_as_asked(const char *template);

/* The same beside a profile, to this path, and without an answer for anybody outside: *copy is the
 * pid of the child. */
bool rb_heapprof_graph_dump_beside(const char *path, pid_t *copy);

#endif
