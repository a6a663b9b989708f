#ifndef GRAPH_ARRIVALS_H
#define GRAPH_ARRIVALS_H
/* The new objects in each row of a difference, added up by class, as an inventory says "9,000
 * screws, 750 nuts". */
#include "graph/difference.h"

/* What is new in a row, of one class. */
struct graph_arrival {
    uint32_t row;
    uint32_t class_number;       /* in the last dump */
    uint32_t rank;               /* in the row: 0 comes first */
    uint64_t objects, bytes;
};

struct graph_arrivals {
    struct heapprof_mem mem;
    struct graph_arrival *all;   /* by row */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
};

/* Adds up the new objects of the last dump. Returns false if there is no memory. The caller frees
 * arrivals either way. */
bool graph_arrivals_make(struct graph_arrivals *arrivals, const struct graph_difference *difference,
                         const struct graph *last);
void graph_arrivals_free(struct graph_arrivals *arrivals);

/* Writes the new objects of a row: "750 new Orders, 9,000 Strings and 12 others". What the holder
 * refers to comes first, and what only the VM and C code know comes last. In between, what has most
 * bytes comes first. */
void graph_put_arrivals(FILE *out, const struct graph_arrivals *arrivals, const struct graph *last,
                        uint32_t row);

#endif
