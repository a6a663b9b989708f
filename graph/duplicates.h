#ifndef GRAPH_DUPLICATES_H
#define GRAPH_DUPLICATES_H
/* Finds objects of one class and size with equal content. A dump has a keyed hash of the
 * content, even if it has no values. Reads the dump in one pass, without building the graph. */
#include "graph/graph.h"

struct graph_duplicate {
    uint64_t hash;
    uint64_t bytes;              /* of one object */
    uint32_t class_number;       /* in names.classes */
    uint32_t objects;
    uint64_t example;            /* address of the first object */
    uint32_t text, stack;        /* of the first object that has one; 0 if none has */
};

struct graph_duplicates {
    struct graph_names names; /* must be the first member: see names.h */
    struct graph_space space;
    struct graph_duplicate *all;
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
    struct heapprof_mem index_mem;
    uint64_t objects;            /* how many have a hash */
};

/* Reads and returns as graph_load does. */
bool graph_duplicates_read(struct graph_duplicates *duplicates,
                           heapprof_dump_more_i *more, void *data,
                           size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX]);

/* The same of a graph that was loaded with GRAPH_HASHES; names, text and stack stay empty. Sets
 * contents, by object, to the index of its content in all, plus 1; 0 if it has no hash. Returns
 * false if there is no memory. */
bool graph_duplicates_find(struct graph_duplicates *duplicates, const struct graph *graph,
                           size_t limit_bytes, uint32_t *contents);
void graph_duplicates_free(struct graph_duplicates *duplicates);

/* The bytes that would be free if the content existed once. */
static inline uint64_t
graph_wasted(const struct graph_duplicate *duplicate)
{
    return (uint64_t)(duplicate->objects - 1) * duplicate->bytes;
}

/* The same of all contents together. */
uint64_t graph_all_wasted(const struct graph_duplicates *duplicates);

/* Sorts by wasted bytes, largest first. */
void graph_duplicates_sort(struct graph_duplicates *duplicates);

#endif
