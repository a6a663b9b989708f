#ifndef HEAPPROF_GC_GRAPH_FORM_H
#define HEAPPROF_GC_GRAPH_FORM_H
/* form.h - an object while it is written, for the files of gc/graph/; compiled inside gc.c. */
#include "gc/graph/graph.h"

/* An object that is being written. */
struct graph_object {
    VALUE object;
    const struct graph_form *form;
    uintptr_t detail;          /* of its layout */
    const VALUE *fixed;        /* references that the layout's labels name */
    size_t fixed_count;
    const VALUE *tail;
    size_t tail_count;         /* values; a pair counts as two */
    VALUE held[8];             /* room for `fixed`, if the object has no array of them */
};

/* What objects of one layout have in common. */
struct graph_form {
    enum heapprof_dump_tail tail;
    const char *fields[8];     /* names, of the VM's own structures; else label is called */
    void (*label)(struct heapprof_graph *graph, const struct graph_object *o);
};

#endif
