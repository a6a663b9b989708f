/* stop.c - `heapprof stop`: ends the profiler of a running process. */
#include "cli/cli.h"

#include "cli/live/ask.h"
#include "cli/live/attach.h"
#include "report/text.h"

static int
ask(const struct cli *cli, struct attach_target *target, long seconds)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct cli_ask ask = {.what = ATTACH_REQUEST_STOP, .text = "", .will = "it will stop",
                          .seconds = seconds};
    struct attach_vm *vm = attach_vm_open(target, error);

    if (!vm) return cli_wrong(cli, "%s", error);
    bool done = cli_ask(cli, vm, &ask);
    attach_vm_close(vm);
    if (!done) return cli_wrong(cli, "%s", ask.error);
    report_print(stdout, "%s is no longer profiled\n", target->name);
    return CLI_DONE;
}

static int
run(struct cli *cli)
{
    long seconds;
    int status = CLI_DONE;

    if (!cli_number(cli, CLI_TIMEOUT, 1, 30, &seconds)) return CLI_USAGE;
    cli_ask_begin();
    for (size_t i = 0; i < cli->operand_count && !cli_ask_interrupted; i++) {
        struct attach_target *target = cli_attach_open(cli, cli->operands[i], CLI_ATTACH_PROCESS);
        int one = target ? ask(cli, target, seconds) : CLI_WRONG;
        attach_target_close(target);
        if (one != CLI_DONE) status = one;
    }
    cli_ask_end();
    int finished = cli_finish(cli);
    return status != CLI_DONE ? status : finished;
}

static const struct cli_option options[] = {
    {CLI_TIMEOUT, NULL, "How long to wait until the process begins (default: 30)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof snapshot 4242 && heapprof stop 4242", "its profile, and then no more samples"},
    {0}
};

const struct cli_command cli_stop_command = {
    .name = "stop",
    .arguments = "[options] PID...",
    .summary = "End the profiler of a running process",
    .description =
        "Ends sampling, and frees all that the profiler knows: the process is as fast as it was\n"
        "before the start. It does not matter who has started the profiler. A process that\n"
        "RUBY_HEAPPROF started writes no profile at its end then. When and how the process is\n"
        "asked: `heapprof start --help`.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .operand = CLI_PIDS,
    .run = run,
};
