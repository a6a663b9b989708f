/* list.c - the list of processes, and who waits for it. */
#include "cli/serve/list.h"

#include <time.h>

#include "cli/serve/reading.h"
#include "os/clock.h"

/* A list is new for NEW_NS. If the next one takes longer than PATIENCE_SECONDS, the last one is
 * shown, unless it was older than OLD_NS already. */
#define NEW_NS INT64_C(5000000000)
#define OLD_NS INT64_C(60000000000)

enum { PATIENCE_SECONDS = 1, LIST_SECONDS = 60 };
enum { OK = 200, DESCRIPTORS = 64 };

void
cli_list_init(struct cli_list *list, cli_list_ready_i *ready)
{
    *list = (struct cli_list){ .lister = {.fd = -1}, .ready = ready };
    TAILQ_INIT(&list->waiting);
}

void
cli_list_free(struct cli_list *list)
{
    cli_worker_kill(&list->lister);
    cli_worker_free(&list->lister);
    attach_host_free(&list->host);
}

static bool
listed_within_p(const struct cli_list *list, int64_t ns)
{
    return list->listed_ns && rb_heapprof_clock_ns(CLOCK_MONOTONIC) - list->listed_ns < ns;
}

bool
cli_list_usable_p(const struct cli_list *list)
{
    return listed_within_p(list, OLD_NS + NEW_NS);
}

bool
cli_list_begin(struct cli_list *list)
{
    static const struct cli_confinement confinement = { .cpu_seconds = LIST_SECONDS,
                                                        .descriptors = DESCRIPTORS };

    return list->lister.pid ||
           cli_worker_start(&list->lister, cli_reading_list, &list->host, &confinement);
}

int
cli_list_enter(struct cli_list *list, struct cli_reader *reader)
{
    reader->waits = false;
    if (listed_within_p(list, NEW_NS)) list->ready(reader, NULL);
    else if (!cli_list_begin(list)) list->ready(reader, "no process can be started");
    else {
        reader->waits = true;
        TAILQ_INSERT_TAIL(&list->waiting, reader, next);
    }
    return listed_within_p(list, OLD_NS) ? PATIENCE_SECONDS : LIST_SECONDS;
}

void
cli_list_leave(struct cli_list *list, struct cli_reader *reader)
{
    if (reader->waits) TAILQ_REMOVE(&list->waiting, reader, next);
    reader->waits = false;
}

void
cli_list_reap(struct cli_list *list)
{
    char error[CLI_WORKER_ERROR_MAX];
    struct cli_reader *reader;
    size_t size;
    int status;

    if (!list->lister.pid || !cli_worker_poll(&list->lister, &status, &size, error)) return;
    bool taken = status == OK && cli_reading_take_list(&list->host, list->lister.fd, size);
    if (taken) list->listed_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
    cli_worker_free(&list->lister);
    while ((reader = TAILQ_FIRST(&list->waiting))) {
        cli_list_leave(list, reader);
        list->ready(reader, taken ? NULL : error);
    }
}
