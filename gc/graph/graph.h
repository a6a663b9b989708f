#ifndef HEAPPROF_GC_GRAPH_H
#define HEAPPROF_GC_GRAPH_H
/* graph.h - the graph of all objects, as records of a file (dump/writer.h).
 *
 * All ractors are stopped, or this is the child of a fork. No GC runs, and none can begin.
 * Nothing here makes a Ruby object, asks malloc, or raises; only marking functions of
 * extensions may. */
#include "ruby/ruby.h"
#include "base/index.h"
#include "dump/writer.h"

/* How many words of an extension's struct are looked at, one by one. */
#define HEAPPROF_GRAPH_WORDS 256

/* A reference that has a label of its own. */
struct heapprof_graph_edge {
    VALUE    value;
    enum heapprof_dump_label kind;
    uint32_t name;               /* a string of the file */
};

/* One reference of an object, as marking says. */
struct heapprof_graph_marked {
    VALUE value;
    bool  labelled;
};

/* What objects of one layout have in common. */
struct heapprof_graph_layout {
    VALUE     klass;
    uintptr_t detail;            /* decides the names of labels: a shape, a type of data */
    const struct graph_form *form;
    uint32_t  kind;              /* MRI's type, and the type inside the VM */
    uint32_t  number;            /* in the file */
};

struct heapprof_graph {
    struct heapprof_mem mem;
    struct heapprof_dump_writer writer;
    size_t values_bytes;         /* of a String's value, at most; 0: values are hidden */

    struct heapprof_graph_layout *layouts; /* from 1 on */
    size_t layouts_capacity, layout_count;
    struct heapprof_index layout_index;
    struct heapprof_dump_name *labels;     /* of the layout that is being made */
    size_t labels_capacity;

    /* The object that is being written. */
    VALUE *values;
    size_t values_capacity, value_count;
    struct heapprof_graph_edge *edges;
    size_t edges_capacity, edge_count;
    struct heapprof_graph_marked *marked;
    size_t marked_capacity, marked_count;
    struct heapprof_index marked_index;
    VALUE words[HEAPPROF_GRAPH_WORDS];     /* of an extension's struct */
    size_t word_count;
    size_t memsize;

    bool  baseline;              /* it is known what was there at the last dump */
    const uintptr_t *plane;      /* of the page (baseline.c); NULL: none */

    uint32_t *stacks;            /* the numbers in the file of the profile's stacks; 0: none yet */
    size_t stacks_capacity;
    uint32_t *path;              /* the stacks that are to be written */
    size_t path_capacity;

    const char *category;        /* of the roots that are being written */
    struct heapprof_dump_name global; /* the label of the global variable that is being written */

    /* Returns the name of the C variable at an address, or NULL if there is none. May be NULL: no
     * names are known. */
    const char *(*c_global_name)(const void *data, const VALUE *address);
    const void *c_global_data;
};

/* Writes roots and objects. The caller starts the writer before, and finishes it after. */
void rb_heapprof_gc_graph_write(struct heapprof_graph *graph);

/* Checking builds: adds a line to the file RUBY_HEAPGRAPH_CHECK that says how much was compared
 * with what is marked. */
void rb_heapprof_gc_graph_checked(const struct heapprof_graph *graph);

/* Gives back what write has asked for, except what the writer has. */
void rb_heapprof_gc_graph_free(struct heapprof_graph *graph);

/* Says that this is the child of a fork. Functions of extensions may wait for what never comes
 * here, or read what is not there. Such calls are ended, by SIGSEGV, SIGBUS and SIGALRM, and
 * their types stand in the footer. */
void rb_heapprof_gc_graph_guard(void);

/* The next dump of this process will tell objects that are there at this moment from those born
 * later. From here on each GC takes more time, in proportion to the number of heap pages. Returns
 * false if memory is refused. All ractors are stopped. */
bool rb_heapprof_gc_graph_begin_baseline(void);

/* Tells the types of ObjectSpace::WeakMap and WeakKeyMap. Comes before the first dump. */
void rb_heapprof_gc_graph_weak_types(const rb_data_type_t *map, const rb_data_type_t *key_map);

/* True if it is known which objects were there at the dump before. False if there was none in
 * this process, or if compaction has moved objects since and there was no memory to follow
 * them. */
bool rb_heapprof_gc_graph_baseline_p(void);

/* Is called in each compaction, when all objects have moved and their references are updated:
 * the last moment at which it is known where each was. */
void rb_heapprof_gc_graph_follow_moves(void);

/* No GC begins between the two. end takes what begin returned. */
bool rb_heapprof_gc_begin_still(void);
void rb_heapprof_gc_end_still(bool before);

/* The number of GCs until now, full and minor. */
uint64_t rb_heapprof_gc_count(void);

#endif
