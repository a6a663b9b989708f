/* start.c - `heapprof start`: starts the profiler of a running process. */
#include "cli/cli.h"

#include <string.h>

#include "cli/live/ask.h"
#include "profiler/options.h"
#include "report/text.h"

static void
say(const struct attach_target *target)
{
    report_print(stdout, "%s is profiled now; heapprof snapshot %d reads its profile, and "
                 "heapprof stop %d ends it\n", target->name, (int)target->pid, (int)target->pid);
}

/* Returns false after telling the user what is wrong with them. */
static bool
make_settings(const struct cli *cli, char *settings, size_t size)
{
    const char *interval = cli->values[CLI_INTERVAL], *whose = cli->values[CLI_MALLOC];
    struct heapprof_options options;
    char message[512];

    snprintf(settings, size, "interval=%s%s%s", interval ? interval : "512k",
             whose ? ",malloc=" : "", whose ? whose : "");
    if ((!interval || !strchr(interval, ',')) &&
        rb_heapprof_options_parse(settings, &options, message, sizeof(message)) ==
            HEAPPROF_OPTIONS_ON)
        return true;
    if (interval && strchr(interval, ',')) strcpy(message, "--interval: has a comma");
    cli_usage(cli, "%s", message);
    return false;
}

static int
run(struct cli *cli)
{
    char settings[256];
    struct cli_ask ask = {.what = ATTACH_REQUEST_START, .text = settings,
                          .will = "it will be profiled"};

    if (!cli_number(cli, CLI_TIMEOUT, 1, 30, &ask.seconds)) return CLI_USAGE;
    if (!make_settings(cli, settings, sizeof(settings))) return CLI_USAGE;
    return cli_ask_each(cli, &ask, say);
}

static const struct cli_option options[] = {
    {CLI_INTERVAL, NULL,
     "Take a sample every BYTES allocated, on average: 4096, 64k; or auto (default: 512k)"},
    {CLI_MALLOC, "ruby all",
     "Whose malloc'ed memory is counted. all: that of extensions and libraries, too"},
    {CLI_TIMEOUT, NULL, "How long to wait until the process begins (default: 30)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof start 4242", "sample every 512 kB allocated; costs less than 1 %"},
    {"heapprof start --interval=64k puma", "the one process whose title has that word"},
    {0}
};

const struct cli_command cli_start_command = {
    .name = "start",
    .arguments = "[options] PID...",
    .summary = "Start the profiler of a running process",
    .description =
        "The process may have been started with nothing set; it has to run a ruby with the heap\n"
        "profiler. It begins at the next place where Ruby can be interrupted. A process that\n"
        "sleeps begins at once, and goes on sleeping: no thread wakes up, and no system call\n"
        "fails. If a thread is inside a long C function, it begins when that returns; a line says\n"
        "which function that is. If it has not begun when --timeout is over, or on ^C, the\n"
        "request is withdrawn.\n"
        "\n"
        "From then on `heapprof snapshot PID` reads the profile, of what is allocated after the\n"
        "start. The process writes no file of its own. `heapprof stop PID` ends it.\n"
        "\n"
        "A process that was started with RUBY_HEAPPROF=locked refuses. `heapprof stacks --help`\n"
        "lists the rights that are needed.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .operand = CLI_PIDS,
    .run = run,
};
