#ifndef HEAPPROF_VM_GRAPH_H
#define HEAPPROF_VM_GRAPH_H
#include <stdint.h>
#include "os/file.h"

/* What is asked for, and what came of it. */
struct heapprof_graph_dump {
    struct heapprof_file *file;  /* that has begun, and that its caller ends; NULL: to fd */
    int      fd;
    size_t   values_bytes;       /* of what a String holds; 0: values are hidden; SIZE_MAX: all of it */
    bool     gc;                 /* a full GC has come before */

    uint64_t bytes;              /* of the file */
    int64_t  pause_ns;           /* the program has waited */
};

/* Writes the graph of all objects. 0, or errno. */
int rb_heapprof_graph_dump(struct heapprof_graph_dump *dump);

#endif
