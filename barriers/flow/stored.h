#ifndef HEAPPROF_BARRIERS_STORED_H
#define HEAPPROF_BARRIERS_STORED_H
/* Where a function stores references, with a barrier or without: for who asks whether another store than one that is told may have
 * put a reference where it is. */
#include "barriers/flow/findings.h"

/* A place of a function's code, and what it stores to. */
struct wb_stored {
    struct wb_place            place;
    const struct wb_data_type *data_type;    /* NULL: it may be any */
    const struct wb_record    *record;       /* the struct that the field is in; NULL: it may be any */
    int64_t                    offset, size; /* as of a finding */
    const struct wb_stored    *next;
};

/* More of one function are not kept: then it may store anywhere. */
#define WB_STORED_MOST 1000

/* Adds one to those of the function, each once. */
void wb_add_stored(struct wb_arena *arena, struct wb_function *function,
                   const struct wb_stored *stored);

/* Whether the function may store what the finding's store does, elsewhere than there. */
bool wb_stores_besides_p(const struct wb_function *function, const struct wb_finding *finding);

#endif
