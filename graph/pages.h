#ifndef GRAPH_PAGES_H
#define GRAPH_PAGES_H
/* How full the heap pages are, for each slot size; and which objects keep nearly empty pages
 * from being given back. Reads the dump in one pass, without building the graph. */
#include "graph/names.h"

#define GRAPH_FILLINGS 10 /* in tenths of a page */
#define GRAPH_POOLS 16    /* how many slot sizes are told apart; MRI has 5 */

struct graph_pool {
    uint32_t slot_bytes;
    uint32_t pages;
    uint64_t objects, slots;
    uint32_t filled[GRAPH_FILLINGS]; /* how many pages are used up to 1, 2 ... 10 tenths */
};

/* The objects of one class on pages of which at most one tenth is used. */
struct graph_pin {
    uint32_t class_number;       /* index in names.classes */
    uint32_t pages;              /* pages with at least one of them */
    uint64_t objects;
    uint32_t last_page;          /* the page that was counted last */
};

struct graph_pages {
    struct graph_names names; /* must be the first member: see names.h */
    struct graph_space space;
    struct graph_pool pools[GRAPH_POOLS]; /* by slot size */
    uint32_t pool_count;
    struct graph_pin *pins; /* by class; sorted at the end */
    size_t   pin_capacity;
    uint32_t pin_count;          /* after sorting: only those with objects */
    uint32_t sparse_pages;       /* pages of which at most one tenth is used */
    uint32_t *classes;           /* of the objects on the page that is being read */
    size_t   class_capacity;
    uint32_t object_count;       /* on that page */
    uint64_t address;            /* of that page; 0 before the first */
    uint32_t slot_bytes;
    uint32_t page_bytes;         /* from the dump; else 65536 */
};

/* Reads and returns as graph_load does. Afterwards pins are sorted by pages, largest first. */
bool graph_pages_read(struct graph_pages *pages, heapprof_dump_more_i *more, void *data,
                      size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX]);
void graph_pages_free(struct graph_pages *pages);

#endif
