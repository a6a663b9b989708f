#ifndef HEAPPROF_GRAPH_EXPORT_H
#define HEAPPROF_GRAPH_EXPORT_H
/* A graph in formats of others: what roots lead to. Each writes to a stream, whose errors stay in it (ferror), and
 * returns whether there was memory. */
#include <stdio.h>

#include "graph/tree.h"
#include "pprof/model.h"

/* When a dump was made, and the first id that no object had by then (identity.h). */
struct heapprof_graph_moment {
    uint64_t time_ns;
    uint64_t next_id;
};

struct heapprof_graph_source {
    struct heapprof_graph *graph;
    const struct heapprof_dominators *dominators;
    const struct heapprof_graph_tree *dominator_tree;
    const uint64_t *ids;         /* by object (identity.h); only heapsnapshot and heaptimeline have them */
    const struct heapprof_graph_moment *moments; /* of the dumps before this one, and of this one; only heaptimeline has them */
    size_t    moment_count;
};

typedef bool heapprof_graph_export_i(FILE *out, const struct heapprof_graph_source *source);

/* What Chromium's DevTools, memlab and others of V8 read. Has a root that is no object; self sizes add up to ours. */
heapprof_graph_export_i rb_heapprof_graph_heapsnapshot;

/* The same with allocation stacks, and which objects had come by each of the moments. */
heapprof_graph_export_i rb_heapprof_graph_heaptimeline;

/* A line an object, as ObjectSpace.dump_all writes it: for sheap, heapy and others. */
heapprof_graph_export_i rb_heapprof_graph_jsonl;

/* The dominator tree, merged, for graphviz: what retains the hundredth part of all, or more. */
heapprof_graph_export_i rb_heapprof_graph_dot;

/* A profile whose stacks are the dominator tree, merged: "Hash via @items" is called by what keeps it. A frame's own value
 * is what such objects are, its sum what they retain. NULL: no memory. To be freed by rb_heapprof_model_free. */
struct heapprof_model *rb_heapprof_graph_model(const struct heapprof_graph_source *source);

#endif
