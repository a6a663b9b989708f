/* leak.c - `heapprof leak`: whether a process leaks, and what, in one command.
 *
 *     start what is off --> dump --- half of the time --- dump --- the other half --- dump --> stop
 *                                                                                       '--> say
 */
#include "cli/cli.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/child.h"
#include "cli/html.h"
#include "cli/interrupt.h"
#include "cli/leak/watched.h"
#include "cli/live/attach.h"
#include "os/clock.h"
#include "report/text.h"

#define WARM_UP_SHARE 3          /* a command that was just started loads code for this part */
#define BECOME_SECONDS 60        /* how long a command may take until it is a Ruby */
#define MARGIN_SECONDS 600       /* dumps and answers, before a process stops by itself */
#define LOOK_SECONDS 0.1         /* between two looks at what has no bell */

struct leak {
    struct cli *cli;
    long   seconds;
    long   requests;             /* after so many it is over; 0: only the time counts */
    struct cli_child *child;     /* a command that was started here; NULL: a process */
    struct cli_watch watch;
};

/* ---- waiting ---- */

/* Whether there is no more to wait for. */
static bool
over_p(struct leak *leak)
{
    return cli_interrupted || (leak->child && cli_child_poll(leak->child));
}

/* A signal ends the wait, and the end of what is watched. */
static void
wait_for(struct leak *leak, double seconds)
{
    if (leak->child) cli_child_wait_for(leak->child, (long)(seconds + 0.5));
    else cli_watch_wait(&leak->watch, seconds);
}

/* ---- saying ---- */

static int64_t
weight(const struct cli_leak_verdict *verdict)
{
    return verdict->growth + verdict->outside;
}

static int
run_view(struct cli *view)
{
    fputs("\nThe page of what grew: ", stdout);
    fflush(stdout);
    return view->command->run(view);
}

/* With --view: the page of `heapprof graph view` for these dumps. If nothing grew there is nothing
 * to show. Returns a status. */
static int
show_page(const struct cli *cli, const struct cli_leak_verdict *verdict, char **paths, size_t count)
{
    struct cli view = {.command = cli_find("graph view"), .operands = paths,
                       .operand_count = count};

    if (!cli->values[CLI_VIEW] || !verdict->row_count) return CLI_DONE;
    view.values[CLI_MEMORY] = cli->values[CLI_MEMORY];
    return run_view(&view);
}

/* Writes the verdict of the process that grew most, and a line for each other. */
static int
say_verdicts(struct leak *leak, struct cli_leak_verdict *verdicts, struct cli_watched **whose,
             size_t count)
{
    size_t worst = 0;
    bool room = true;

    for (size_t i = 1; i < count; i++) {
        if (weight(&verdicts[i]) > weight(&verdicts[worst])) worst = i;
    }
    if (count) {
        bool running = attach_target_state(whose[worst]->target) == ATTACH_TARGET_SAME;
        room = cli_leak_put(stdout, &verdicts[worst], whose[worst]->name,
                            running ? (int)whose[worst]->target->pid : 0);
    }
    if (count > 1) fputs("\nThe other processes:\n", stdout);
    for (size_t i = 0; room && i < count; i++) {
        if (i != worst) room = cli_leak_put_line(stdout, &verdicts[i], whose[i]->name);
    }
    if (!room) return cli_wrong(leak->cli, "no memory");
    if (!count) return CLI_DONE;
    return show_page(leak->cli, &verdicts[worst], whose[worst]->paths, whose[worst]->count);
}

/* If nothing grew, there is nothing to look for in the dumps. */
static int
say(struct leak *leak)
{
    size_t count = leak->watch.count, found = 0;
    struct cli_leak_verdict *verdicts = calloc(count + 1, sizeof(*verdicts));
    struct cli_watched **whose = calloc(count + 1, sizeof(*whose));
    int status = verdicts && whose ? CLI_DONE : cli_wrong(leak->cli, "no memory");
    bool grew = false;

    for (size_t i = 0; status == CLI_DONE && i < count; i++) {
        struct cli_watched *one = &leak->watch.all[i];
        if (one->error[0]) cli_wrong(leak->cli, "%s", one->error);
        if (one->count < CLI_LEAK_STEPS + 1) continue;
        whose[found] = one;
        status = cli_leak_find(&verdicts[found], leak->cli, one->paths, one->count);
        verdicts[found].blocks = &one->blocks;
        verdicts[found].requests = one->requests;
        if (cli_leak_found_p(&verdicts[found++])) grew = true;
    }
    if (status == CLI_DONE) status = found ? say_verdicts(leak, verdicts, whose, found) : CLI_WRONG;
    if (!grew) cli_watch_remove(&leak->watch);
    for (size_t i = 0; i < found; i++) cli_leak_free(&verdicts[i]);
    free(verdicts);
    free(whose);
    return status;
}

/* ---- processes ---- */

static void
say_begin(const struct leak *leak)
{
    char dumps[REPORT_COUNT_MAX], requests[REPORT_COUNT_MAX + 16] = "";

    if (leak->cli->values[CLI_QUIET]) return;
    report_count(dumps, leak->watch.count, "process", "processes");
    if (leak->requests) {
        report_count(requests, (uint64_t)leak->requests, "request", "requests");
        strcat(requests, ", at most ");
    }
    report_print(stderr, "heapprof leak: watching %s for %s%ld s; ^C ends it, and leaves no "
                 "trace\n", leak->watch.count == 1 ? leak->watch.all[0].name : dumps, requests,
                 leak->seconds);
}

static void
say_requests(const struct leak *leak, uint64_t seen)
{
    char text[REPORT_COUNT_MAX];

    if (seen >= (uint64_t)leak->requests || leak->cli->values[CLI_QUIET]) return;
    report_count(text, seen, "request", "requests");
    report_print(stderr, "heapprof leak: %s began in %ld s, not %ld%s\n", text, leak->seconds,
                 leak->requests, seen ? "" : "; those count that begin with a label "
                 "(doc/labels.md)");
}

/* Waits for a step. */
static void
wait_for_step(struct leak *leak, int step)
{
    double seconds = (double)leak->seconds / CLI_LEAK_STEPS;
    int64_t end_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);
    uint64_t wanted = (uint64_t)leak->requests * (uint64_t)step / CLI_LEAK_STEPS;

    if (!leak->requests) {
        wait_for(leak, seconds);
        return;
    }
    while (!over_p(leak) && cli_watch_requests(&leak->watch) < wanted &&
           rb_heapprof_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        if (!cli_watch_wait(&leak->watch, LOOK_SECONDS)) break;
    }
}

/* Takes the dumps. Returns false if it was interrupted, or if no process is left. */
static bool
watch(struct leak *leak)
{
    say_begin(leak);
    cli_watch_start(&leak->watch);
    for (int i = 0; i <= CLI_LEAK_STEPS; i++) {
        if (i) wait_for_step(leak, i);
        if (!over_p(leak)) cli_watch_dump(&leak->watch);
        if (over_p(leak)) return false;
        if (cli_watch_left(&leak->watch) == 0) break;
    }
    say_requests(leak, cli_watch_requests(&leak->watch));
    return true;
}

static int
watch_and_say(struct leak *leak)
{
    bool whole = watch(leak);

    if (whole) cli_watch_find_blocks(&leak->watch);
    cli_watch_stop(&leak->watch);
    if (whole) return say(leak);
    cli_watch_remove(&leak->watch);
    return cli_wrong(leak->cli, leak->child && leak->child->ended
                                    ? "the command ended before the time was over; give less by "
                                      "--duration"
                                    : "interrupted; nothing is left behind");
}

static int
leak_of_processes(struct leak *leak)
{
    struct cli *cli = leak->cli;
    int status = CLI_DONE;

    for (size_t i = 0; status == CLI_DONE && i < cli->operand_count; i++) {
        int64_t pid;
        if (!cli_attach_pid(cli, cli->operands[i], &pid) || !cli_watch_add(&leak->watch, pid))
            status = CLI_WRONG;
    }
    if (status != CLI_DONE) return status;
    cli_interrupt_begin();
    status = watch_and_say(leak);
    cli_interrupt_end();
    return status;
}

/* ---- a command ---- */

/* Whether the command is a Ruby of this kind by now. */
static bool
ruby_p(pid_t pid)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_request request;
    struct attach_target *target = attach_target_open_pid(pid, error);
    struct attach_vm *vm = target ? attach_vm_open(target, error) : NULL;
    bool open = false;

    if (vm) {
        open = attach_request_open(&request, vm, error) == ATTACH_REQUEST_OPEN;
        attach_request_close(&request);
    }
    attach_vm_close(vm);
    attach_target_close(target);
    return open;
}

static bool
wait_for_ruby(struct leak *leak)
{
    for (int looks = 0; looks * LOOK_SECONDS < BECOME_SECONDS && !over_p(leak); looks++) {
        if (ruby_p(leak->child->pid)) return true;
        poll(NULL, 0, (int)(LOOK_SECONDS * 1000));
    }
    return false;
}

/* The command goes on afterwards, and we end as it does. */
static int
leak_of_command(struct leak *leak)
{
    struct cli *cli = leak->cli;
    struct cli_child child;
    int error = cli_child_start(&child, cli->operands, NULL);

    if (error) return cli_child_not_run(cli, &child, error);
    leak->child = &child;
    int status = CLI_WRONG;
    if (!wait_for_ruby(leak))
        cli_wrong(cli, child.ended ? "the command ended before it was a Ruby that can be asked"
                                   : "the command is no Ruby that can be asked");
    else {
        wait_for(leak, (double)leak->seconds / WARM_UP_SHARE);
        if (child.ended || cli_watch_add(&leak->watch, child.pid)) status = watch_and_say(leak);
    }
    fflush(stdout);
    if (!child.ended && !cli->values[CLI_QUIET])
        fputs("heapprof leak: the command goes on; ^C ends it\n", stderr);
    cli_child_wait(&child);
    cli_child_restore(&child);
    int end = cli_child_end_like(&child);
    return status != CLI_DONE ? status : end;
}

/* ---- files ---- */

static int
leak_of_files(struct leak *leak)
{
    struct cli *cli = leak->cli;
    struct cli_leak_verdict verdict;

    if (cli->operand_count < 2 || cli->operand_count > GRAPH_DUMPS_MOST)
        return cli_usage(cli, "give two to %d dumps of one process",
                         GRAPH_DUMPS_MOST);
    int status = cli_leak_find(&verdict, cli, cli->operands, cli->operand_count);
    if (status == CLI_DONE && !cli_leak_put(stdout, &verdict, cli->operands[0], 0))
        status = cli_wrong(cli, "no memory");
    if (status == CLI_DONE)
        status = show_page(cli, &verdict, cli->operands, cli->operand_count);
    cli_leak_free(&verdict);
    return status;
}

/* Profiles say by line what grew, and no more. */
static int
leak_of_profiles(struct cli *cli)
{
    struct cli diff = {.command = cli_find("diff"), .operands = cli->operands,
                       .operand_count = cli->operand_count};
    struct cli view = {.command = cli_find("view"), .operands = cli->operands + 1,
                       .operand_count = 1};

    if (cli->operand_count < 2) return cli_usage(cli, "give two profiles of one process, or more");
    int status = diff.command->run(&diff);
    if (status != CLI_DONE || !cli->values[CLI_VIEW]) return status;
    view.values[CLI_DIFF] = cli->operands[0];
    return run_view(&view);
}

/* ---- the command line ---- */

static int
run(struct cli *cli)
{
    struct leak leak = {.cli = cli, .watch = {.cli = cli}};
    enum cli_kind kind = CLI_KIND_UNKNOWN;
    int status;

    if (!cli_number(cli, CLI_REQUESTS, CLI_LEAK_STEPS, 0, &leak.requests) ||
        !cli_number(cli, CLI_DURATION, 1, leak.requests ? 600 : 60, &leak.seconds) ||
        !cli_number(cli, CLI_TIMEOUT, 1, 30, &leak.watch.patience))
        return CLI_USAGE;
    if (cli->values[CLI_VIEW] && !cli_html_there(cli)) return CLI_WRONG;
    leak.watch.for_ms = (uint64_t)(leak.seconds + MARGIN_SECONDS) * 1000;
    bool command = cli->before_dashes == 0 && cli->operand_count > 0;
    if (!command && cli->operand_count) kind = cli_kind_of_file(cli->operands[0]);
    if (command) status = leak_of_command(&leak);
    else if (kind == CLI_KIND_GRAPH) status = leak_of_files(&leak);
    else if (kind == CLI_KIND_PROFILE) status = leak_of_profiles(cli);
    else status = leak_of_processes(&leak);
    cli_watch_free(&leak.watch);
    int finished = cli_finish(cli);
    return status != CLI_DONE ? status : finished;
}

static const struct cli_option options[] = {
    {CLI_DURATION, NULL, "How long to watch (default: 60; with --requests, at most: 600)"},
    {CLI_REQUESTS, NULL, "Watch for N requests. They are counted where they have a label"},
    {CLI_TIMEOUT, NULL, "How long a process may take until it answers (default: 30)"},
    CLI_GRAPH_MEMORY_OPTION,
    {CLI_VIEW, NULL, "Write a page of what grew, too, and print its name"},
    {CLI_QUIET, NULL, "Do not say at the beginning what is watched"},
    CLI_OUTPUT_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof leak 4242", "watches that process for a minute, and says what grew"},
    {"heapprof leak -d 600 4242", "ten minutes; if it is a master of puma, with all its workers"},
    {"heapprof leak --view 4242", "the same, and a page for a browser"},
    {"heapprof leak -- bundle exec sidekiq", "starts a program, and watches it"},
    {"heapprof leak 1.rbgraph 2.rbgraph 3.rbgraph", "dumps that are there already"},
    {0}
};

const struct cli_command cli_leak_command = {
    .name = "leak",
    .arguments = "[-d SECONDS] PID... | -- COMMAND... | FILE FILE...",
    .summary = "Say whether a process leaks, and what",
    .description =
        "The process may have been started with nothing set; it has to run a ruby with the heap\n"
        "profiler. Its Ruby children, such as the workers of puma, are watched, too. The profiler\n"
        "is started where it is off. Copies of the process write three dumps of its objects: now,\n"
        "after half of the time, and at the end. Then the profiler is stopped again.\n"
        "\n"
        "The answer says for what holds more than before: how much that is, which of it was born\n"
        "in the first half and is still there, and which line of the application allocated it,\n"
        "with the labels of what the program was doing. Only what grew in both halves counts.\n"
        "Beside it stands what RSS grew outside of objects, how certain all that is, and what to\n"
        "type next. \"nothing grew\" means that no holder grew in both halves by a thousandth of\n"
        "the heap, nor RSS by more than a fiftieth.\n"
        "\n"
        "The process should be at work meanwhile: a leak that nobody causes does not grow. If\n"
        "something grew, the dumps stay in this directory, or in /tmp, for the commands that come\n"
        "next. On ^C the profiler is stopped, and the dumps are removed.\n"
        "\n"
        "A COMMAND is started, and may run for a third of the time before the first dump. It goes\n"
        "on afterwards. FILEs are dumps of one process, in any order, or profiles, which are\n"
        "shown as by heapprof diff.",
    .readers =
        "the owner of the dumps alone (mode 0600), who is the user of the process; with --output\n"
        "only the owner of the file (mode 0600).",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .operand = CLI_PIDS,
    .run = run,
};
