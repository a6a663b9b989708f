#ifndef GRAPH_FATES_H
#define GRAPH_FATES_H
/* Which waiters can go on, found by marking from all that goes on already. For stuck.c. */
#include "graph/waiters.h"

enum graph_fate {
    GRAPH_STUCK,                 /* nothing that goes on can wake it, or has it */
    GRAPH_WOKEN,                 /* something that goes on can wake it */
    GRAPH_HELD                   /* nothing can wake it, but something has it, and can end it */
};

/* Marks of an object. */
enum {
    GRAPH_REACHED = 1,           /* something that goes on leads to it */
    GRAPH_OUTSIDE = 2,           /* and not only by way of a fiber scheduler */
    GRAPH_GOES_ON = 4,           /* a thread or fiber that has been followed */
    GRAPH_CLOSED = 8,            /* is not followed: a waiter, or what has its stack */
    GRAPH_SCHEDULER = 16,
    GRAPH_AWAITED = 32,          /* there is a graph_wake for it */
    GRAPH_PENDING = 64,          /* is to be followed */
    GRAPH_SCHEDULES = 128        /* a thread that has a scheduler, or what has its stack */
};

struct graph_fates {
    struct graph_space *space;
    const struct graph *graph;
    const struct graph_waiters *waiters;
    uint8_t  *marks;             /* by object */
    uint8_t  *of;                /* by waiter: enum graph_fate */
    uint32_t *pending;           /* objects that are to be followed */
    uint32_t  pending_count;
    uint32_t *woken;             /* waiters that go on, and are not followed yet */
    uint32_t  woken_count;
    size_t    marks_capacity, of_capacity, pending_capacity, woken_capacity;
};

/* Returns false if there is no memory. The caller frees the fates either way, before the
 * waiters. */
bool graph_fates_find(struct graph_fates *fates, struct graph *graph,
                      const struct graph_waiters *waiters);
void graph_fates_free(struct graph_fates *fates);

/* Marks again, with the fates known: REACHED is what would be reached if all that are stuck or held
 * had ended. These stay CLOSED, except fibers that nothing led to. */
void graph_fates_mark_woken(struct graph_fates *fates);

/* True if no program goes this way: from the VM's list of threads to a thread, from a fiber to its
 * thread, from a Monitor to its owner. */
bool graph_no_way_p(const struct graph_fates *fates, uint32_t from, uint32_t to, uint32_t label);

/* Objects that are to be followed, each once at a time; a closed one is not. */
static inline void
graph_fates_push(struct graph_fates *fates, uint32_t object)
{
    if (fates->marks[object] & (GRAPH_CLOSED | GRAPH_PENDING)) return;
    fates->marks[object] |= GRAPH_PENDING;
    fates->pending[fates->pending_count++] = object;
}

static inline uint32_t
graph_fates_pop(struct graph_fates *fates)
{
    uint32_t object = fates->pending[--fates->pending_count];

    fates->marks[object] &= (uint8_t)~GRAPH_PENDING;
    return object;
}

#endif
