#ifndef HEAPPROF_CLI_LIST_H
#define HEAPPROF_CLI_LIST_H
/* The processes of this host, listed by one worker for all who wait for it. This file knows no
 * sockets. */
#include <sys/queue.h>

#include "attach/host.h"
#include "cli/serve/worker.h"

/* Somebody who wants the list. */
struct cli_reader {
    TAILQ_ENTRY(cli_reader) next;
    bool waits;
};

/* The list is there, if error is NULL. Otherwise there is none, and error says why. */
typedef void cli_list_ready_i(struct cli_reader *reader, const char *error);

TAILQ_HEAD(cli_readers, cli_reader);

struct cli_list {
    struct attach_host host;
    int64_t listed_ns;           /* when; 0: never */
    struct cli_worker lister;    /* pid 0: no list is being made */
    struct cli_readers waiting;
    cli_list_ready_i *ready;
};

void cli_list_init(struct cli_list *list, cli_list_ready_i *ready);
void cli_list_free(struct cli_list *list);

/* Makes a new list, unless one is being made. Returns false if no process can be started. */
bool cli_list_begin(struct cli_list *list);

/* ready is called: at once if there is a new list, otherwise when the next one has been made.
 * Returns for how many seconds it is worth to wait. */
int cli_list_enter(struct cli_list *list, struct cli_reader *reader);

/* ready will not be called. A reader that does not wait is allowed. */
void cli_list_leave(struct cli_list *list, struct cli_reader *reader);

/* Whether the last list may be shown, because the next one takes too long. */
bool cli_list_usable_p(const struct cli_list *list);

/* Takes the result of a worker that has ended. Is called when a child has ended. */
void cli_list_reap(struct cli_list *list);

#endif
