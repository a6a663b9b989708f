/* stop.c - `heapprof stop`: ends the profiler of a running process. */
#include "cli/cli.h"

#include "cli/live/ask.h"
#include "report/text.h"

static void
say(const struct cli_ask *ask, const struct attach_target *target)
{
    (void)ask;
    report_print(stdout, "%s is no longer profiled\n", target->name);
}

static int
run(struct cli *cli)
{
    struct cli_ask ask = {.what = ATTACH_REQUEST_STOP, .text = "", .will = "it will stop"};

    if (!cli_number(cli, CLI_TIMEOUT, 1, 30, &ask.seconds)) return CLI_USAGE;
    return cli_ask_each(cli, &ask, say);
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
