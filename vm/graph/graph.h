#ifndef HEAPPROF_VM_GRAPH_H
#define HEAPPROF_VM_GRAPH_H
#include <stdint.h>
#include "os/file.h"

/* What is asked for, and what came of it. */
struct heapprof_graph_dump {
    struct heapprof_file *file;  /* that is open, and that its caller ends; NULL: to fd */
    int      fd;
    size_t   values_bytes;       /* of what a String holds; 0: values are hidden; SIZE_MAX: all of it */
    bool     gc;                 /* a full GC has come before */
    bool     baseline;           /* it can be told which objects were there at the dump before */
    bool     fork;               /* by a child, where the system lets us have one */
    bool     uninterrupted;      /* nothing is raised while it is waited for */
    bool     detached;           /* which is not waited for: child and shared are the caller's then */

    const struct heapprof_symbols *c_globals; /* NULL: not known */
    pid_t    pid, parent;
    uint64_t set, number;        /* of all dumps of this process; which of these it is */
    const char *mode;
    int64_t  begun_ns;
    int64_t  expected_ns;        /* of the pause, by a child */
    uint64_t bytes;              /* of the file */
    int64_t  pause_ns;           /* the program has waited */
    pid_t    child;              /* 0: it has been waited for, or there was none */
    struct heapprof_graph_shared *shared;
};

/* Before a dump, while objects can be made: from now on each compaction is followed. With the GVL. */
void rb_heapprof_graph_prepare(void);

/* Writes the graph of all objects. 0, or errno. With fork other threads run meanwhile, and what interrupts this one may raise,
 * after the child has been ended. */
int rb_heapprof_graph_dump(struct heapprof_graph_dump *dump);

/* Both, to a path, which is begun and ended here; opening it may wait, with the GVL. */
int rb_heapprof_graph_dump_file(struct heapprof_graph_dump *dump, const char *path);

/* How long the program will wait for its copy, by how much memory it has. */
int64_t rb_heapprof_graph_expected_pause_ns(void);

#endif
