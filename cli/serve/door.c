/* door.c - one worker looks at all callers that wait. Those who come meanwhile wait for the next.
 *
 *   I1  ends and callers have count elements, and exist while there is a worker.
 *   I2  A caller that is looked at is in callers, at its place. Any other caller that waits is in
 *       waiting.
 *   I3  If the worker fails, all that it looked at are refused. */
#include "cli/serve/door.h"

#include <stdlib.h>
#include <unistd.h>

enum { OK = 200, CPU_SECONDS = 60, DESCRIPTORS = 64 };

void
cli_door_init(struct cli_door *door, cli_door_judged_i *judged)
{
    *door = (struct cli_door){ .worker = {.fd = -1}, .judged = judged };
    TAILQ_INIT(&door->waiting);
}

static void
end_look(struct cli_door *door)
{
    cli_worker_free(&door->worker);
    free(door->ends);
    free(door->callers);
    door->ends = NULL;
    door->callers = NULL;
    door->count = 0;
}

void
cli_door_free(struct cli_door *door)
{
    cli_worker_kill(&door->worker);
    end_look(door);
}

/* ---- in the worker ---- */

/* Writes what it has found out, in the same order. */
static int
find(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX])
{
    struct cli_door *door = data;

    (void)error;
    attach_peers_find(door->ends, door->count);
    fwrite(door->ends, sizeof(*door->ends), door->count, out);
    return OK;
}

/* ---- in the server ---- */

static void
judge(struct cli_door *door, struct cli_caller *caller, enum attach_peer_why why)
{
    caller->waits = caller->looked_at = false;
    caller->end.why = why;
    door->judged(caller);
}

/* Takes all that wait. Returns false without memory. */
static bool
take_waiting(struct cli_door *door)
{
    struct cli_caller *caller;
    size_t count = 0;

    TAILQ_FOREACH(caller, &door->waiting, next) count++;
    door->ends = malloc(count * sizeof(*door->ends));
    door->callers = malloc(count * sizeof(*door->callers));
    if (!door->ends || !door->callers) return false;
    while ((caller = TAILQ_FIRST(&door->waiting))) {
        TAILQ_REMOVE(&door->waiting, caller, next);
        caller->looked_at = true;
        caller->place = door->count;
        door->ends[door->count] = caller->end;
        door->callers[door->count++] = caller;
    }
    return true;
}

/* Judges those that were looked at. found: their ends, or NULL if nothing was found out. */
static void
judge_all(struct cli_door *door, const struct attach_peer_end *found)
{
    for (size_t i = 0; i < door->count; i++) {
        struct cli_caller *caller = door->callers[i];
        if (!caller) continue;
        bool valid = found && found[i].why < ATTACH_PEER_WHYS;
        if (valid) caller->end.peer = found[i].peer;
        judge(door, caller, valid ? found[i].why : ATTACH_PEER_UNKNOWN);
    }
    end_look(door);
}

static void
look(struct cli_door *door)
{
    static const struct cli_confinement confinement = { .cpu_seconds = CPU_SECONDS,
                                                        .descriptors = DESCRIPTORS };
    struct cli_caller *caller;

    if (door->worker.pid || TAILQ_EMPTY(&door->waiting)) return;
    if (take_waiting(door) && cli_worker_start(&door->worker, find, door, &confinement)) return;
    judge_all(door, NULL);
    while ((caller = TAILQ_FIRST(&door->waiting))) {
        TAILQ_REMOVE(&door->waiting, caller, next);
        judge(door, caller, ATTACH_PEER_UNKNOWN);
    }
}

void
cli_door_enter(struct cli_door *door, struct cli_caller *caller, int fd)
{
    *caller = (struct cli_caller){.waits = true};
    attach_peer_end_of(fd, &caller->end);
    if (caller->end.why) {
        judge(door, caller, caller->end.why);
        return;
    }
    TAILQ_INSERT_TAIL(&door->waiting, caller, next);
    look(door);
}

void
cli_door_leave(struct cli_door *door, struct cli_caller *caller)
{
    if (caller->looked_at) door->callers[caller->place] = NULL;
    else if (caller->waits) TAILQ_REMOVE(&door->waiting, caller, next);
    caller->waits = caller->looked_at = false;
}

/* Reads what the worker has written. Returns NULL if it is not whole. */
static struct attach_peer_end *
read_ends(const struct cli_door *door, size_t size)
{
    struct attach_peer_end *found = NULL;

    if (size == door->count * sizeof(*found)) found = malloc(size);
    if (found && pread(door->worker.fd, found, size, CLI_WORKER_BODY) == (ssize_t)size)
        return found;
    free(found);
    return NULL;
}

void
cli_door_reap(struct cli_door *door)
{
    char error[CLI_WORKER_ERROR_MAX];
    size_t size;
    int status;

    if (!door->worker.pid || !cli_worker_poll(&door->worker, &status, &size, error)) return;
    struct attach_peer_end *found = status == OK ? read_ends(door, size) : NULL;
    judge_all(door, found);
    free(found);
    look(door);
}
