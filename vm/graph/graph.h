#ifndef HEAPPROF_VM_GRAPH_H
#define HEAPPROF_VM_GRAPH_H
#include <stdint.h>
#include "os/file.h"

/* A dump: what the caller asks for, and what came of it. */
struct heapprof_graph_dump {
    struct heapprof_file *file;  /* open; the caller ends it. NULL: fd is written to */
    int      fd;                 /* used if file is NULL */
    size_t   values_bytes;       /* of each String's content; 0: hidden; SIZE_MAX: all */
    bool     gc;                 /* the caller has run a full GC */
    bool     baseline;           /* set here: objects of the previous dump can be told */
    bool     fork;               /* a child writes it, if the system allows one */
    bool     uninterrupted;      /* waiting for the child raises nothing */
    bool     detached;           /* the child is not waited for; the caller gets child and shared */

    const struct heapprof_symbols *c_globals; /* NULL: not known */
    pid_t    pid, parent;
    uint64_t set, number; /* set: the same for all dumps of this process; number: 1, 2, ... */
    const char *mode;
    int64_t  begun_ns;
    uint64_t resident_bytes;     /* of the process, before it */
    int64_t  expected_ns;        /* how long a clone will pause the program */
    uint64_t bytes;              /* of the file */
    int64_t  pause_ns;           /* how long the program was stopped */
    pid_t    child;              /* 0: it has ended, or there was none */
    int killed_by; /* the signal that has ended the child before the file was whole; 0: none */
    struct heapprof_graph_shared *shared;
};

/* Follows each compaction from here on. To be called before a dump, while objects can be made.
 * Needs the GVL. */
void rb_heapprof_graph_prepare(void);

/* Has a Ruby thread do that when one runs the next time; until then there is no compaction. For a
 * caller that can make no objects. Needs the GVL. */
void rb_heapprof_graph_prepare_soon(void);

/* Writes the graph of all objects. Returns 0, or errno: ECHILD if the child has ended before the
 * file was whole. With `fork` other threads run meanwhile. An interrupt may raise then, unless
 * `uninterrupted`; the child has been ended before. */
int rb_heapprof_graph_dump(struct heapprof_graph_dump *dump);

/* Does both of these, to the file at path. Opening it may wait, with the GVL held. */
int rb_heapprof_graph_dump_file(struct heapprof_graph_dump *dump, const char *path);

/* How long a clone will pause the program, estimated by its resident memory. */
int64_t rb_heapprof_graph_expected_pause_ns(void);

#endif
