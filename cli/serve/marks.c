/* marks.c - asks each process once, as `heapprof start --at` does. What comes of it is a line on
 * stderr.
 *
 *     new in the list ---> waits ---> its worker asks ---> over: done, or refused
 *                            ^            |
 *                  next list '--- later <-' has not begun
 *
 *   I1  At most WORKERS_MOST workers run. A process that does not answer keeps one for SECONDS, and
 *       is asked again.
 *   I2  A process that has executed another program is another one. */
#include "cli/serve/marks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/live/ask.h"
#include "cli/live/settings.h"
#include "report/text.h"

enum { WORKERS_MOST = 8, SECONDS = 30, CPU_SECONDS = 60, DESCRIPTORS = 64 };
enum { OK = 200, REFUSED = 409, GONE = 410, LATER = 503 };
enum marked_state { WAITS, ASKED, SET_BACK, OVER };

struct cli_marked {
    struct attach_host_process process;
    enum marked_state state;
    bool told;                   /* that it does not answer */
    struct cli_worker worker;
};

bool
cli_marks_init(struct cli_marks *marks, const struct cli *cli)
{
    *marks = (struct cli_marks){ .cli = cli };
    if (cli->values[CLI_AT] || cli->values[CLI_OUTPUT])
        return cli_settings_of_run(cli, marks->settings);
    return true;
}

bool
cli_marks_p(const struct cli_marks *marks)
{
    return marks->settings[0];
}

void
cli_marks_free(struct cli_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++) {
        cli_worker_kill(&marks->all[i].worker);
        cli_worker_free(&marks->all[i].worker);
    }
    free(marks->all);
}

/* ---- in the worker ---- */

struct cli_order {
    const struct cli_marks *marks;
    const struct attach_host_process *process;
};

static int
ask_target(const struct cli_order *order, struct attach_target *target, FILE *out, char *error)
{
    struct attach_vm *vm = attach_vm_open(target, error);
    struct cli_ask ask = { .what = ATTACH_REQUEST_START, .text = order->marks->settings,
                           .will = "it will be profiled", .seconds = SECONDS };
    bool done = vm && cli_ask(order->marks->cli, vm, &ask);

    attach_vm_close(vm);
    if (done) {
        fprintf(out, "%s (%.80s) writes %s when memory comes to its first mark\n", target->name,
                order->process->title, ask.answer);
        return OK;
    }
    if (attach_target_state(target) != ATTACH_TARGET_SAME) return GONE;
    if (vm) snprintf(error, CLI_WORKER_ERROR_MAX, "%.*s", CLI_WORKER_ERROR_MAX - 1, ask.error);
    return vm && !ask.refused ? LATER : REFUSED;
}

static int
ask(void *data, FILE *out, char error[CLI_WORKER_ERROR_MAX])
{
    const struct cli_order *order = data;
    struct attach_target *target = attach_target_open_pid(order->process->pid, error);
    int status = GONE;

    if (target && target->start == order->process->start)
        status = ask_target(order, target, out, error);
    attach_target_close(target);
    return status;
}

/* ---- in the server ---- */

static void
start_workers(struct cli_marks *marks)
{
    static const struct cli_confinement confinement = { .cpu_seconds = CPU_SECONDS,
                                                        .descriptors = DESCRIPTORS,
                                                        .asks = true };

    for (size_t i = 0; i < marks->count && marks->running < WORKERS_MOST; i++) {
        struct cli_marked *one = &marks->all[i];
        struct cli_order order = { .marks = marks, .process = &one->process };
        if (one->state != WAITS) continue;
        bool started = cli_worker_start(&one->worker, ask, &order, &confinement);
        one->state = started ? ASKED : SET_BACK;
        marks->running += started;
    }
}

static void
say(const struct cli_marks *marks, const struct cli_worker *worker, size_t size)
{
    char line[1024];
    ssize_t length = pread(worker->fd, line, size < sizeof(line) ? size : sizeof(line) - 1,
                           CLI_WORKER_BODY);

    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    report_print(stderr, "heapprof %s: %s\n", marks->cli->command->name, line);
}

static void
reap(struct cli_marks *marks, struct cli_marked *one)
{
    char error[CLI_WORKER_ERROR_MAX];
    int status;
    size_t size;

    if (one->state != ASKED || !cli_worker_poll(&one->worker, &status, &size, error)) return;
    marks->running--;
    one->state = status == LATER ? SET_BACK : OVER;
    if (status == 0)
        report_print(stderr, "heapprof %s: process %d: %s\n", marks->cli->command->name,
                     (int)one->process.pid, error);
    else if (status != GONE && !(status == LATER && one->told)) say(marks, &one->worker, size);
    one->told = one->told || status == LATER;
    cli_worker_free(&one->worker);
}

void
cli_marks_reap(struct cli_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++) reap(marks, &marks->all[i]);
    start_workers(marks);
}

/* I2 */
static bool
same_p(const struct attach_host_process *one, const struct attach_host_process *other)
{
    return one->pid == other->pid && one->start == other->start &&
           !memcmp(one->image, other->image, sizeof(one->image));
}

/* What is known of a process, which is forgotten at its old place. */
static struct cli_marked
take_known(struct cli_marks *marks, const struct attach_host_process *process)
{
    struct cli_marked found = { .process = *process, .worker = {.fd = -1} };

    for (size_t i = 0; i < marks->count; i++) {
        struct cli_marked *one = &marks->all[i];
        if (!same_p(&one->process, process)) continue;
        found.state = one->state == SET_BACK ? WAITS : one->state;
        found.told = one->told;
        found.worker = one->worker;
        one->worker = (struct cli_worker){.fd = -1};
        break;
    }
    return found;
}

/* Makes the new array of the old one. A process that is gone takes its worker with it. */
void
cli_marks_look(struct cli_marks *marks, const struct attach_host *host, int64_t listed_ns)
{
    if (!cli_marks_p(marks) || listed_ns == marks->listed_ns) return;
    marks->listed_ns = listed_ns;
    struct cli_marked *all = calloc(host->count + marks->running + 1, sizeof(*all));
    size_t count = 0;

    if (!all) return;
    for (size_t i = 0; i < host->count; i++) {
        if (host->all[i].ruby) all[count++] = take_known(marks, &host->all[i]);
    }
    for (size_t i = 0; i < marks->count; i++) { /* a worker that asks one that is gone */
        if (marks->all[i].worker.pid) all[count++] = marks->all[i];
    }
    free(marks->all);
    marks->all = all;
    marks->count = count;
    start_workers(marks);
}
