/* stacks.c - heapprof stacks: shows what all threads of a Ruby are doing. The Ruby runs, or is
 * in a core. */
#include "cli/cli.h"

#include "cli/live/attach.h"
#include "cli/live/backtraces.h"

/* ---- the command ---- */

static bool
locals_wanted_p(const struct cli *cli)
{
    return cli->values[CLI_LOCALS] || cli->values[CLI_VALUES];
}

static int
show_target(struct cli *cli, const char *name, enum cli_attach_to to, struct report_json *json)
{
    struct attach_target *target = cli_attach_open(cli, name, to);
    if (!target) return CLI_WRONG;

    char error[ATTACH_TARGET_ERROR_MAX];
    const struct cli_backtraces_options wanted = {
        .mode = cli_attach_mode(cli->values[CLI_STOP]),
        .native = cli_attach_native(cli),
        .fibers = cli->values[CLI_FIBERS],
        .locals = locals_wanted_p(cli),
        .values = cli->values[CLI_VALUES],
    };
    bool shown = cli_backtraces(target, &wanted, stdout, json, error);
    attach_target_close(target);
    return shown ? CLI_DONE : cli_wrong(cli, "%s", error);
}

static int
show_targets(struct cli *cli, struct report_json *json)
{
    int status = cli->values[CLI_CORE]
                     ? show_target(cli, cli->values[CLI_CORE], CLI_ATTACH_CORE, json)
                     : CLI_DONE;

    for (size_t i = 0; i < cli->operand_count; i++) {
        if (!json && (i > 0 || cli->values[CLI_CORE])) putchar('\n');
        int one = show_target(cli, cli->operands[i], CLI_ATTACH_PROCESS, json);
        if (one != CLI_DONE) status = one;
    }
    return status;
}

static int
run(struct cli *cli)
{
    struct report_json json = {.out = stdout};
    int status;

    if (!cli->values[CLI_CORE] && cli->operand_count == 0)
        return cli_usage(cli, "PID is missing: give one, or --core=FILE");
    if (!cli_attach_native_usable_p(cli)) return CLI_USAGE;
    if (locals_wanted_p(cli) &&
        cli_attach_mode(cli->values[CLI_STOP]) == ATTACH_LOOK_NEVER) {
        return cli_usage(cli, "--locals reads threads while they stand still: "
                              "leave --stop=never out");
    }
    if (!cli->values[CLI_JSON]) {
        status = show_targets(cli, NULL);
    }
    else {
        report_json_begin(&json, '[');
        status = show_targets(cli, &json);
        report_json_end(&json, ']');
        putchar('\n');
    }
    int finished = cli_finish(cli);
    return status != CLI_DONE ? status : finished;
}

static const struct cli_option options[] = {
    {CLI_CORE, NULL, "Read a core file instead of a process"},
    {CLI_STOP, "auto always never", "Which threads to stop while they are read (default: auto)"},
    {CLI_FIBERS, NULL, "Also show fibers that do not run. This reads the whole heap"},
    CLI_NATIVE_OPTIONS,
    {CLI_LOCALS, NULL, "Also show the local variables of each method: names and classes"},
    {CLI_VALUES, NULL, "Also show their values, if these are short"},
    {CLI_JSON, NULL, "Print JSON"},
    CLI_OUTPUT_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof stacks 4242", "what each thread of that process is doing, now"},
    {"heapprof stacks $(pgrep -f puma)", "of all of puma's processes"},
    {"heapprof stacks --native 4242", "the same, with what C methods do"},
    {"heapprof stacks --locals 4242", "also the local variables and their classes"},
    {"heapprof stacks --core core.4242", "what each was doing when the process ended"},
    {0}
};

const struct cli_command cli_stacks_command = {
    .name = "stacks",
    .arguments = "[options] PID...",
    .summary = "Show what a running Ruby is doing",
    .description =
        "Prints the backtraces of all threads of all Ractors of a process. The process does\n"
        "nothing for it. It has to run a ruby with the heap profiler. Neither its files nor debug\n"
        "symbols are needed. Instead of a PID, a word of the process's title will do, if only one\n"
        "process has it: `heapprof stacks puma`.\n"
        "\n"
        "A thread's first line says where in the application it is, if its innermost frame is in\n"
        "a gem or in Ruby. What is below the program's directory is the application, except gems.\n"
        "\n"
        "What the program says about what it is doing (ObjectSpace::HeapProfile.label) stands\n"
        "below that line: `labels: endpoint=POST /cart`.\n"
        "\n"
        "With --stop=auto, a thread that runs is stopped for some microseconds while it is read;\n"
        "no other thread is stopped. So no backtrace mixes two moments. With --stop=always, all\n"
        "threads are stopped, so all backtraces are of one moment. With --stop=never, none is\n"
        "stopped. If a backtrace changes while it is read, only its outer part is shown, below\n"
        "(torn).\n"
        "\n"
        "With --native, the C functions that a C method calls are shown inside of it, each with\n"
        "its library, and so is a garbage collection. `?` is a function whose name is not known:\n"
        "symbols of the library are not installed. A waiting thread is stopped, too.\n"
        "\n"
        "\"(line unknown)\" stands where YJIT's machine code does not say which line it is at.\n"
        "With --stop=never that is so for each method that YJIT has compiled, while it runs. The\n"
        "method and its callers are right. Short methods may be missing: YJIT puts their code\n"
        "into their callers.\n"
        "\n"
        "With --locals, every method and block has its local variables, with the classes of their\n"
        "values. With --values, numbers, symbols, the first 60 bytes of strings, and the sizes of\n"
        "arrays and hashes are shown, too. They may be secrets: whoever reads the output sees\n"
        "them. Every thread is stopped for some microseconds. Variables of the method that runs\n"
        "are not known while YJIT may have them in registers.\n"
        "\n"
        "It needs the rights of a debugger: the same user where the system allows that, or root.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 1000,
    .operand = CLI_PIDS,
    .run = run,
};
