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

/* Writes it to nowhere, in place: builds with HEAPPROF_CHECK hold each object's references against what is marked. */
void rb_heapprof_graph_check(void);

/* ---- between graph.c and graph_child.c ---- */

/* What the two processes tell each other. */
struct heapprof_graph_shared {
    int64_t  pause_ns;           /* by the parent; 0: not known yet */
    uint64_t bytes;              /* by the child, */
    int      error;              /* as what follows */
    bool     written;            /* all but the file's name: what is left takes no time of the program's */
    bool     done;               /* the file is there, or has been removed */
};

/* NULL: there is no memory. */
struct heapprof_graph_shared *rb_heapprof_graph_share(void);
void rb_heapprof_graph_unshare(struct heapprof_graph_shared *shared);

/* A copy of this thread alone, that writes; -1: there can be none. All ractors are stopped. */
pid_t rb_heapprof_graph_clone(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared);

/* Until the child has ended. 0, or errno. Gives up the GVL, and may raise; then shared is given back. */
int rb_heapprof_graph_wait(struct heapprof_graph_dump *dump, struct heapprof_graph_shared *shared, pid_t child);

/* Of the child, what it shares with nobody: what either of the two has written since, and its own tables; 0: not known. */
uint64_t rb_heapprof_graph_copied_bytes(void);

/* All of the file. 0, or errno. In a child, with what it shares. */
int rb_heapprof_graph_write(struct heapprof_graph_dump *dump, const struct heapprof_graph_shared *shared);

#endif
