#ifndef GRAPH_DUPLICATES_H
#define GRAPH_DUPLICATES_H
/* Objects of one class and size that hold the same: a dump tells by a keyed hash, also when it has no values. In one pass over the
 * dump, without the graph. */
#include "graph/names.h"

struct graph_duplicate {
    uint64_t hash;
    uint64_t bytes;              /* of one of them */
    uint32_t class_number;       /* in names.classes */
    uint32_t objects;
    uint64_t example;            /* address of the first */
    uint32_t text, stack;        /* of the first that has one; 0: none */
};

struct graph_duplicates {
    struct graph_names names; /* first: names.h */
    struct graph_space space;
    struct graph_duplicate *all;
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
    struct heapprof_mem index_mem;
    uint64_t objects;            /* that have a hash */
};

/* As graph_load. */
bool graph_duplicates_read(struct graph_duplicates *duplicates,
                           heapprof_dump_more_i *more, void *data,
                           size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX]);
void graph_duplicates_free(struct graph_duplicates *duplicates);

/* What were free if each were there once. */
static inline uint64_t
graph_wasted(const struct graph_duplicate *duplicate)
{
    return (uint64_t)(duplicate->objects - 1) * duplicate->bytes;
}

/* Those that waste most first. */
void graph_duplicates_sort(struct graph_duplicates *duplicates);

#endif
