#ifndef GRAPH_PAGES_H
#define GRAPH_PAGES_H
/* Heap pages: how full they are, by size of slot, and objects of which classes keep nearly empty ones from being given
 * back. In one pass over the dump, without the graph. */
#include "graph/names.h"

#define GRAPH_FILLINGS 10 /* tenths of a page */
#define GRAPH_POOLS 16    /* sizes of slots that are told apart; MRI has 5 */

struct graph_pool {
    uint32_t slot_bytes;
    uint32_t pages;
    uint64_t objects, slots;
    uint32_t filled[GRAPH_FILLINGS]; /* pages of which up to 1, 2 ... 10 tenths are used */
};

/* Objects of one class on pages of which at most a tenth is used. */
struct graph_pin {
    uint32_t class_number;       /* in names.classes */
    uint32_t pages;              /* on which there are any */
    uint64_t objects;
    uint32_t last_page;          /* number of the page that was counted last */
};

struct graph_pages {
    struct graph_names names; /* first: names.h */
    struct graph_space space;
    struct graph_pool pools[GRAPH_POOLS]; /* by size */
    uint32_t pool_count;
    struct graph_pin *pins; /* by class, then sorted */
    size_t   pin_capacity;
    uint32_t pin_count;          /* after sort: of those that have objects */
    uint32_t sparse_pages;       /* of which at most a tenth is used */
    uint32_t *classes;           /* of the objects on the page that is being read */
    size_t   class_capacity;
    uint32_t object_count;       /* on it */
    uint64_t address;            /* of it; 0: none yet */
    uint32_t slot_bytes;
    uint32_t page_bytes;         /* as the dump says; 65536 */
};

/* As graph_load; then pins are sorted, those on most pages first. */
bool graph_pages_read(struct graph_pages *pages, heapprof_dump_more_i *more, void *data,
                      size_t limit_bytes, bool *complete, char error[HEAPPROF_DUMP_ERROR_MAX]);
void graph_pages_free(struct graph_pages *pages);

#endif
