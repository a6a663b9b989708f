#ifndef HEAPPROF_GC_GRAPH_H
#define HEAPPROF_GC_GRAPH_H
/* graph.h - the graph of all objects, as records of a file (dump/writer.h).
 *
 * All ractors are stopped, or this is the child of a fork; no GC runs, and none can begin. Nothing here makes a Ruby
 * object, asks malloc or raises. What marking functions of extensions do is theirs. */
#include "ruby/ruby.h"
#include "base/index.h"
#include "dump/writer.h"

/* Of an extension's struct, to be looked at one by one. */
#define HEAPPROF_GRAPH_WORDS 256

/* A reference that has a label of its own. */
struct heapprof_graph_edge {
    VALUE    value;
    enum heapprof_dump_label kind;
    uint32_t name;               /* a string of the file */
};

/* What marking says that an object refers to. */
struct heapprof_graph_marked {
    VALUE value;
    bool  labelled;
};

/* What has one layout. */
struct heapprof_graph_layout {
    VALUE     klass;
    uintptr_t detail;            /* what the names of labels depend on: a shape, a type of data */
    const struct graph_form *form;
    uint32_t  kind;              /* MRI's type, and that of what is inside the VM */
    uint32_t  number;            /* in the file */
};

struct heapprof_graph {
    struct heapprof_mem mem;
    struct heapprof_dump_writer writer;
    size_t values_bytes;         /* most of what a String holds; 0: values are hidden */

    struct heapprof_graph_layout *layouts; /* from 1 on */
    size_t layouts_capacity, layout_count;
    struct heapprof_index layout_index;
    struct heapprof_dump_name *labels;     /* of the layout that is being made */
    size_t labels_capacity;

    /* Of the object that is being written. */
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

    bool  baseline;              /* it can be told what was there before */
    const uintptr_t *plane;      /* of the page (graph_baseline.c); NULL: none */

    uint32_t *stacks;            /* of the profile: their numbers in the file; 0: none yet */
    size_t stacks_capacity;
    uint32_t *path;              /* the stacks that are to be written */
    size_t path_capacity;

    const char *category;        /* of the roots that are being written */
    uint32_t global;             /* the global variable's name, a string */

    /* What the C variable at an address is called; NULL: not known. NULL: of none. */
    const char *(*c_global_name)(const void *data, const VALUE *address);
    const void *c_global_data;
};

/* Roots and objects, between start and finish of the writer, which the caller does. */
void rb_heapprof_gc_graph_write(struct heapprof_graph *graph);

/* Checking builds: says in RUBY_HEAPGRAPH_CHECK how much was written and held against what is marked. */
void rb_heapprof_gc_graph_checked(const struct heapprof_graph *graph);

/* Gives back what write has asked for, but for the writer's. */
void rb_heapprof_gc_graph_free(struct heapprof_graph *graph);

/* This is the child of a fork: functions of extensions may wait for what never comes, or read what is not there. Calls of
 * them are ended, and their types are in the footer; SIGSEGV, SIGBUS and SIGALRM are for that. */
void rb_heapprof_gc_graph_guard(void);

/* Objects that are there now are told from others in the next dump of this process; for each GC from now on that takes time
 * in proportion to the number of heap pages. False: there is no memory for it. All ractors are stopped. */
bool rb_heapprof_gc_graph_begin_baseline(void);

/* The types of ObjectSpace::WeakMap and WeakKeyMap, before the first dump. */
void rb_heapprof_gc_graph_weak_types(const rb_data_type_t *map, const rb_data_type_t *key_map);

/* Whether it can be told which objects were there at the dump before: not where there was none in this process, nor when
 * compaction has moved objects since and there was no memory to follow them. */
bool rb_heapprof_gc_graph_baseline_p(void);

/* To be called in each compaction, when all objects have moved and their references are updated: the last moment at which it can
 * be told where each was. */
void rb_heapprof_gc_graph_follow_moves(void);

/* No GC may begin between the two. end takes what begin returned. */
bool rb_heapprof_gc_begin_still(void);
void rb_heapprof_gc_end_still(bool before);

/* Of full and minor GCs until now. */
uint64_t rb_heapprof_gc_count(void);

#endif
