/* start.c - `heapprof start`: starts the profiler of a running process. */
#include "cli/cli.h"

#include "cli/live/ask.h"
#include "cli/live/settings.h"
#include "report/text.h"

static void
say(const struct cli_ask *ask, const struct attach_target *target)
{
    int pid = (int)target->pid;

    if (ask->answer[0])
        report_print(stdout, "%s is profiled now, and writes %s when memory comes to its first "
                     "mark; heapprof stop %d ends it\n", target->name, ask->answer, pid);
    else
        report_print(stdout, "%s is profiled now; heapprof snapshot %d reads its profile, and "
                     "heapprof stop %d ends it\n", target->name, pid, pid);
}

static int
run(struct cli *cli)
{
    char settings[ATTACH_REQUEST_TEXT_MAX];
    struct cli_ask ask = {.what = ATTACH_REQUEST_START, .text = settings,
                          .will = "it will be profiled"};

    if (!cli_number(cli, CLI_TIMEOUT, 1, 30, &ask.seconds)) return CLI_USAGE;
    if (!cli_settings_of_run(cli, settings)) return CLI_USAGE;
    return cli_ask_each(cli, &ask, say);
}

static const struct cli_option options[] = {
    {CLI_INTERVAL, NULL,
     "Take a sample every BYTES allocated, on average: 4096, 64k; or auto (default: 64k)"},
    {CLI_MALLOC, "ruby all",
     "Whose malloc'ed memory is counted. all: that of extensions and libraries, too"},
    {CLI_AT, NULL,
     "Write a profile when memory crosses a mark: 85% of its limit, a size such as 512m of RSS, or "
     "up to four of these, as 70%/90%"},
    {CLI_OUTPUT, NULL,
     "Name of the profiles of --at. %p is the PID, %e the program, %t the time, %n a number "
     "(default: heapprof-%p.pb.gz where the process was started)"},
    {CLI_TIMEOUT, NULL, "How long to wait until the process begins (default: 30)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof start 4242", "sample every 64 kB allocated; costs less than 1 %"},
    {"heapprof start --interval=64k puma", "the one process whose title has that word"},
    {"heapprof start --at=70%/90% 4242", "it writes a profile before it is killed for its memory"},
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
        "start. `heapprof stop PID` ends it.\n"
        "\n"
        "The process writes files of its own only with --at: as with the setting `at` of\n"
        "RUBY_HEAPPROF, a profile each time that memory crosses a mark upwards. `heapprof\n"
        "postmortem` reads them. A process that is profiled already gets the marks alone. Marks\n"
        "that it was started with stay, and it refuses others. It refuses, too, where the first\n"
        "file could not be written.\n"
        "\n"
        "A process that was started with RUBY_HEAPPROF=locked refuses. `heapprof stacks --help`\n"
        "lists the rights that are needed.",
    .readers = "only the owner of the files of --at (mode 0600), who is the user of the process.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .operand = CLI_PIDS,
    .writes_output = true,
    .run = run,
};
