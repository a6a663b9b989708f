#ifndef HEAPPROF_CLI_DOOR_H
#define HEAPPROF_CLI_DOOR_H
/* Finds out who asks (attach/peer.h), for all connections that wait at once: in a worker, because
 * it takes milliseconds, and longer the more connections there are. This file knows no sockets.
 *
 *     enter ---> waits ---> is looked at by the worker ---> judged
 *                  \_______________/---> leave
 */
#include <sys/queue.h>

#include "attach/peer.h"
#include "cli/serve/worker.h"

/* A connection at the door: a part of it. */
struct cli_caller {
    TAILQ_ENTRY(cli_caller) next;
    struct attach_peer_end end;
    size_t place;     /* in the door's array, while the worker looks at it */
    bool   waits;     /* for a worker, or until its worker has ended */
    bool   looked_at; /* a worker looks at it */
};

/* end says who it is, or why that one may not ask. */
typedef void cli_door_judged_i(struct cli_caller *caller);

TAILQ_HEAD(cli_callers, cli_caller);

struct cli_door {
    struct cli_callers waiting;
    struct cli_worker worker;          /* pid 0: none */
    struct attach_peer_end *ends;      /* what the worker looks at */
    struct cli_caller **callers;       /* whose they are; NULL: the caller has left */
    size_t count;
    cli_door_judged_i *judged;
};

void cli_door_init(struct cli_door *door, cli_door_judged_i *judged);
void cli_door_free(struct cli_door *door);

/* Looks at the accepted socket, and lets the caller wait. judged is called when it is known who it
 * is, perhaps at once. */
void cli_door_enter(struct cli_door *door, struct cli_caller *caller, int fd);

/* judged will not be called. A caller that does not wait is allowed. */
void cli_door_leave(struct cli_door *door, struct cli_caller *caller);

/* Takes the result of a worker that has ended, and starts the next. Is called when a child has
 * ended. */
void cli_door_reap(struct cli_door *door);

#endif
