#ifndef GRAPH_STUCK_H
#define GRAPH_STUCK_H
/* Threads and fibers that nobody can wake any more, and what would be free without them.
 *
 *     roots, running threads --> objects --> Queue        its waiters go on, and reach more
 *     VM's list of threads   --> Thread  --> its stack --> Queue    nobody else reaches this one:
 *                                                                   the thread is stuck
 *
 * A waiter is not stuck either if the program has its Thread, or its Fiber: it could end it, by
 * Thread#raise or Thread#kill. Such a waiter is *held*. Lists in which all threads or fibers are do
 * not count: the VM's, and what only the fiber scheduler of a thread has. */
#include "graph/waiters.h"

/* Waiters of one kind that were started at one place, and wait at one place for objects of one
 * class. */
struct graph_stuck_row {
    struct graph_waiter example;
    uint32_t count;
    bool     held;
    uint64_t bytes;              /* would be free without all of these, and without them alone */
};

struct graph_stuck {
    struct graph_waiters waiters;
    struct graph_stuck_row *rows; /* stuck ones first, then by bytes */
    uint32_t row_count;
    uint32_t threads, fibers;    /* stuck */
    uint32_t held_threads, held_fibers;
    uint64_t bytes;              /* would be free without all that are stuck; more than the sum of
                                    their rows if several rows share objects */
    size_t   rows_capacity;
};

/* Finds them. For fibers see graph_waiters_find. Returns false if there is no memory. The caller
 * frees stuck either way, before the graph. */
bool graph_stuck_find(struct graph_stuck *stuck, struct graph *graph);
void graph_stuck_free(struct graph_stuck *stuck);

#endif
