#ifndef GRAPH_EXPORT_H
#define GRAPH_EXPORT_H
/* Writes a graph in the formats of other programs. Only objects that roots reach are written.
 * Each function writes to a stream and returns false if there is no memory; an output error
 * stays in the stream (ferror). */
#include <stdio.h>

#include "graph/tree.h"
#include "pprof/model.h"

/* When a dump was made, and the first id that no object had at that time (identity.h). */
struct graph_moment {
    uint64_t time_ns;
    uint64_t next_id;
};

struct graph_source {
    struct graph *graph;
    const struct graph_dominators *dominators;
    const struct graph_tree *dominator_tree;
    const uint64_t *ids;         /* by object (identity.h); only for heapsnapshot and
                                    heaptimeline */
    const struct graph_moment *moments; /* of the earlier dumps and of this one; only for
                                           heaptimeline */
    size_t    moment_count;
};

typedef bool graph_export_i(FILE *out, const struct graph_source *source);

/* The format of V8, which Chromium's DevTools and memlab read. It has a root node that is not
 * an object. The self sizes add up to our total. */
graph_export_i graph_heapsnapshot;

/* The same with allocation stacks, and with the objects that existed at each moment. */
graph_export_i graph_heaptimeline;

/* One line for each object, as ObjectSpace.dump_all writes it; for sheap, heapy and similar
 * programs. */
graph_export_i graph_jsonl;

/* The merged dominator tree for graphviz. Leaves out patterns that retain less than 1 % of all
 * bytes. */
graph_export_i graph_dot;

/* A profile whose call stacks are the merged dominator tree: a frame "Hash via @items" is
 * called by the frame of what keeps it. The value of a frame is the bytes of its objects; the
 * sum is what they retain. Returns NULL if there is no memory. The caller frees it with
 * rb_heapprof_model_free. */
struct heapprof_model *graph_model(const struct graph_source *source);

#endif
