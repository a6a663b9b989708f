#ifndef HEAPPROF_GC_GRAPH_FORM_H
#define HEAPPROF_GC_GRAPH_FORM_H
/* form.h - an object that is being written, for the files of gc/graph/. */
#include "gc/graph/graph.h"

/* An object that is being written. */
struct graph_object {
    VALUE object;
    const struct graph_form *form;
    uintptr_t detail;          /* of its layout */
    const VALUE *fixed;        /* references of the layout's labels */
    size_t fixed_count;
    const VALUE *tail;
    size_t tail_count;         /* of values, also where they are pairs */
    VALUE held[8];             /* for fixed, where the object has them in no array */
};

/* What objects of one layout have in common. */
struct graph_form {
    enum heapprof_dump_tail tail;
    const char *fields[8];     /* of the VM's own structures; or else */
    void (*label)(struct heapprof_graph *graph, const struct graph_object *o);
};

#endif
