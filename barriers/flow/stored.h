#ifndef HEAPPROF_BARRIERS_STORED_H
#define HEAPPROF_BARRIERS_STORED_H
/* Where a function stores references, with a barrier or without. By this list confirm/refute.c
 * decides whether a reference that the collector saw can come from another store. */
#include "barriers/flow/findings.h"

/* A place in a function, and the field that it stores to. */
struct wb_stored {
    struct wb_place            place;
    const struct wb_data_type *data_type;    /* NULL if it may be any */
    const struct wb_record    *record;       /* the struct that contains the field; NULL if it
                                              * may be any */
    int64_t                    offset, size; /* as in a finding */
    const struct wb_stored    *next;
};

/* The limit for one function. A function with more is taken to store anywhere. */
#define WB_STORED_MOST 1000

/* Adds a place to the function's list, unless it is there. */
void wb_add_stored(struct wb_arena *arena, struct wb_function *function,
                   const struct wb_stored *stored);

/* True if the function may store to the field of the finding at another place. */
bool wb_stores_besides_p(const struct wb_function *function, const struct wb_finding *finding);

#endif
