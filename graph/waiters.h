#ifndef GRAPH_WAITERS_H
#define GRAPH_WAITERS_H
/* Threads and fibers that wait until somebody in the process wakes them, and who could.
 *
 *     thread T, "sleeps for ever"  -- waits for -->  Queue Q     T wakes if something reaches Q
 *                                  -- waits for -->  Mutex       if its owner goes on
 *                                  -- waits for -->  Thread      if that thread goes on
 *                                  -- (nothing)                  if something reaches T
 *
 * Who waits with a timeout, for IO or for another process is no waiter, nor is the main thread. */
#include "graph/graph.h"

/* What an object is, as far as waiting goes. */
enum graph_part {
    GRAPH_NO_PART, GRAPH_THREAD_PART, GRAPH_FIBER_PART, GRAPH_RACTOR_PART, GRAPH_MONITOR_PART,
    GRAPH_MUTEX_PART, GRAPH_QUEUE_PART
};

enum graph_awaited {
    GRAPH_AWAITS_WAKING,         /* Thread.stop, Mutex#sleep: until somebody wakes the thread */
    GRAPH_AWAITS_OBJECT,         /* what somebody does with the object: pushes, signals */
    GRAPH_AWAITS_RACTOR,         /* that somebody sends to its Ractor, or takes from it */
    GRAPH_AWAITS_OWNER,          /* a Mutex that a thread has locked */
    GRAPH_AWAITS_THREAD          /* the end of a thread, or a value of a Ractor */
};

struct graph_waiter {
    uint32_t object;             /* the thread or fiber */
    uint32_t stack;              /* what has its frames: the object itself, or the fiber that the
                                    thread runs */
    uint32_t awaited;            /* 0: to be woken */
    uint32_t where;              /* string: the label of its innermost frame that has a file and is
                                    not MRI's own, "code in Object#run at app.rb:12"; 0: none */
    uint32_t own;                /* of its innermost frame in code of the application; 0: none */
    uint8_t  awaits;             /* enum graph_awaited */
    bool     fiber;
};

/* An event that wakes a waiter: the object is reached; or, if goes_on, it is a thread or fiber that
 * goes on. */
struct graph_wake {
    uint32_t object, waiter;
    bool     goes_on;
};

struct graph_waiters {
    struct graph_space *space;
    uint8_t  *parts;             /* by layout: enum graph_part */
    struct graph_waiter *all;
    uint32_t count;
    struct graph_wake *wakes;    /* in the order of their objects */
    uint32_t wake_count;
    uint32_t *running;           /* threads that the VM keeps alive and that are no waiters */
    uint32_t running_count;
    uint32_t unnamed;            /* threads that wait for what the dump does not name. They are
                                    among the running */
    size_t   parts_capacity, all_capacity, wakes_capacity, running_capacity;
};

/* Fibers that wait for a Queue are told from those that have got something only if the graph was
 * loaded with GRAPH_LENGTHS. Returns false if there is no memory. The caller frees the waiters
 * either way, before the graph. */
bool graph_waiters_find(struct graph_waiters *waiters, struct graph *graph);
void graph_waiters_free(struct graph_waiters *waiters);

static inline enum graph_part
graph_part(const struct graph_waiters *waiters, const struct graph *graph, uint32_t object)
{
    return (enum graph_part)waiters->parts[graph->layouts[object]];
}

/* The object that a FIELD of that name leads to; 0 if there is none. */
uint32_t graph_field_target(const struct graph *graph, uint32_t object, const char *name);

/* True if the label is of a FIELD of that name. */
bool graph_field_named_p(const struct graph *graph, uint32_t label, const char *name);

#endif
