#ifndef HEAPPROF_GRAPH_DUPLICATES_H
#define HEAPPROF_GRAPH_DUPLICATES_H
/* Objects of one class and size that hold the same: a dump tells by a keyed hash, also when it has no values. In one pass over the
 * dump, without the graph. */
#include "graph/names.h"

struct heapprof_graph_duplicate {
    uint64_t hash;
    uint64_t bytes;              /* of one of them */
    uint32_t class_number;       /* in names.classes */
    uint32_t objects;
    uint64_t example;            /* address of the first */
    uint32_t text, stack;        /* of the first that has one; 0: none */
};

struct heapprof_graph_duplicates {
    struct heapprof_graph_names names; /* first: names.h */
    struct heapprof_space space;
    struct heapprof_graph_duplicate *all;
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
    struct heapprof_mem index_mem;
    uint64_t objects;            /* that have a hash */
};

/* As rb_heapprof_graph_load. */
bool rb_heapprof_graph_duplicates_read(struct heapprof_graph_duplicates *duplicates,
                                       heapprof_dump_more_i *more, void *data,
                                       size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX]);
void rb_heapprof_graph_duplicates_free(struct heapprof_graph_duplicates *duplicates);

/* What were free if each were there once. */
static inline uint64_t
rb_heapprof_graph_wasted(const struct heapprof_graph_duplicate *duplicate)
{
    return (uint64_t)(duplicate->objects - 1) * duplicate->bytes;
}

/* Those that waste most first. */
void rb_heapprof_graph_duplicates_sort(struct heapprof_graph_duplicates *duplicates);

#endif
