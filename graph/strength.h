#ifndef GRAPH_STRENGTH_H
#define GRAPH_STRENGTH_H
/* How much a reference says about why an object is alive, as a chain is as strong as its weakest
 * link. A constant is what people mean by "it is kept by"; a word on a machine stack may be an
 * accident.
 *
 * A path is as strong as its weakest reference. Of two paths the stronger one is shown; of two
 * equally strong ones the shorter one. */
#include "graph/graph.h"

enum graph_strength {
    GRAPH_FIRM,      /* from variables and objects; also how a class is reached */
    GRAPH_OF_VM,     /* from other roots: C globals, the VM's own tables */
    GRAPH_OF_THREAD, /* from the VM's list of threads, and from what a thread has */
    GRAPH_OF_FRAME,  /* from a frame of a thread or fiber: locals, self, code */
    GRAPH_ON_STACK,  /* a temporary value of the VM stack, a word of the machine stack */
    GRAPH_CACHED,    /* from a cache of code or of a class */
    GRAPH_STRENGTHS
};

/* The strength of a reference by itself. */
enum graph_strength graph_root_strength(const struct graph *graph, const struct graph_root *root);
enum graph_strength graph_strength(const struct graph *graph, uint32_t from, uint32_t label);

/* For each object: GRAPH_FIRM if a path without words of a stack and without caches leads to it;
 * otherwise GRAPH_ON_STACK or GRAPH_CACHED, by its strongest path; GRAPH_STRENGTHS if no root
 * leads to it.
 *
 * A reference that is weaker than the object it leads to keeps nothing that something firmer
 * does not keep: `graph_weaker_p`. Dominators look through such references. The objects that
 * roots reach without them are the same, because each object keeps the references of its
 * strongest path. */
struct graph_levels {
    struct graph_space *space;
    uint8_t *of;                 /* by object; NULL if no reference is looked through */
    size_t   of_capacity;
};

/* Returns false if there is no memory. The caller frees the levels either way, before the
 * graph. */
bool graph_levels_find(struct graph_levels *levels, struct graph *graph);
void graph_levels_free(struct graph_levels *levels);

/* GRAPH_FIRM, GRAPH_ON_STACK or GRAPH_CACHED, by the label alone. */
static inline uint8_t
graph_label_level(const struct graph *graph, uint32_t label)
{
    uint32_t kind = graph_label_kind(label);

    if (!graph_kind_of_vm_p(kind)) return GRAPH_FIRM;
    if (kind == HEAPPROF_DUMP_STACK) return GRAPH_ON_STACK;
    return graph_role(&graph->names, graph_label_detail(label)) == GRAPH_ROLE_CACHE ? GRAPH_CACHED
                                                                                    : GRAPH_FIRM;
}

/* True if it leads from an Array or String to the memory that it shares. */
static inline bool
graph_shared_p(const struct graph *graph, uint32_t label)
{
    return graph_label_kind(label) == HEAPPROF_DUMP_FIELD &&
           graph_role(&graph->names, graph_label_detail(label)) == GRAPH_ROLE_SHARED;
}

/* True if some references of the object may be looked through; false if surely none is. */
static inline bool
graph_maybe_weaker_p(const struct graph *graph, const struct graph_levels *levels, uint32_t from)
{
    return levels->of &&
           (levels->of[from] != GRAPH_FIRM || (graph->bits[from] & GRAPH_HAS_VM_LABELS));
}

/* True if the reference is looked through. From 0 for a root. */
static inline bool
graph_weaker_p(const struct graph *graph, const struct graph_levels *levels, uint32_t from,
               uint32_t to, uint32_t label)
{
    uint8_t level;

    if (!levels->of) return false;
    level = graph_label_level(graph, label);
    if (from && levels->of[from] > level) level = levels->of[from];
    return level > levels->of[to];
}

#endif
