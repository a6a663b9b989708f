#ifndef GRAPH_EXPORT_H
#define GRAPH_EXPORT_H
/* A graph in formats of others: what roots lead to. Each writes to a stream, whose errors stay in it (ferror), and
 * returns whether there was memory. */
#include <stdio.h>

#include "graph/tree.h"
#include "pprof/model.h"

/* When a dump was made, and the first id that no object had by then (identity.h). */
struct graph_moment {
    uint64_t time_ns;
    uint64_t next_id;
};

struct graph_source {
    struct graph *graph;
    const struct graph_dominators *dominators;
    const struct graph_tree *dominator_tree;
    const uint64_t *ids;         /* by object (identity.h); only heapsnapshot and heaptimeline have them */
    const struct graph_moment *moments; /* of the dumps before this one, and of this one; only heaptimeline has them */
    size_t    moment_count;
};

typedef bool graph_export_i(FILE *out, const struct graph_source *source);

/* What Chromium's DevTools, memlab and others of V8 read. Has a root that is no object; self sizes add up to ours. */
graph_export_i graph_heapsnapshot;

/* The same with allocation stacks, and which objects had come by each of the moments. */
graph_export_i graph_heaptimeline;

/* A line an object, as ObjectSpace.dump_all writes it: for sheap, heapy and others. */
graph_export_i graph_jsonl;

/* The dominator tree, merged, for graphviz: what retains the hundredth part of all, or more. */
graph_export_i graph_dot;

/* A profile whose stacks are the dominator tree, merged: "Hash via @items" is called by what keeps it. A frame's own value
 * is what such objects are, its sum what they retain. NULL: no memory. To be freed by rb_heapprof_model_free. */
struct heapprof_model *graph_model(const struct graph_source *source);

#endif
