/* dump.c - `heapprof graph dump`: asks a running process for a dump of its object graph. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/live/attach.h"
#include "cli/live/dumped.h"
#include "dump/format.h"
#include "os/file.h"
#include "report/text.h"

/* Copies the dump, which the process has written in its own file system. The process may be
 * another user's: only a dump is copied, and no link is followed. */
static int
copy(const struct cli *cli, const struct attach_graph_request *request)
{
    char path[ATTACH_GRAPH_ANSWER_MAX + 32], head[HEAPPROF_DUMP_MAGIC_BYTES];
    int fd, status;

    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)request->vm->target->pid, request->answer);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        status = cli_wrong(cli, "%s: %s; the process wrote it, and it was not copied",
                           request->answer, strerror(errno));
    else if (pread(fd, head, sizeof(head), 0) != sizeof(head) ||
             memcmp(head, HEAPPROF_DUMP_MAGIC, sizeof(head))) {
        status = cli_wrong(cli, "%s: is not an object graph, and was not copied", request->answer);
    }
    else status = cli_output_copy(cli, fd);
    if (fd >= 0) close(fd);
    return status;
}

/* The process has written it only because this command has asked for it. */
static void
remove_file(const struct attach_graph_request *request)
{
    char path[CLI_DUMPED_PATH_MAX];

    cli_dumped_path(path, request);
    unlink(path);
}

static int
say(struct cli *cli, const struct attach_graph_request *request)
{
    const char *process = request->vm->target->name;
    char amount[REPORT_AMOUNT_MAX];

    if (cli->values[CLI_OUTPUT]) {
        if (copy(cli, request) != CLI_DONE) return CLI_WRONG;
        if (!request->signal_number) remove_file(request);
    }
    report_print(stdout, "%s\n",
                 cli->values[CLI_OUTPUT] ? cli->values[CLI_OUTPUT] : request->answer);
    report_amount(amount, (double)request->file_bytes, "bytes");
    report_print(stderr, "heapprof graph dump: %s, %s waited for %.1f ms\n", amount, process,
                 (double)request->pause_ns / 1e6);
    return cli_finish(cli);
}

static int
ask(struct cli *cli, struct attach_target *target, long seconds)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct cli_dumped dumped;
    struct cli_ask ask = {.seconds = seconds};
    struct attach_vm *vm = attach_vm_open(target, error);

    if (!vm) return cli_wrong(cli, "%s", error);
    cli_interrupt_begin();
    bool asked = cli_dumped_begin(cli, &dumped, vm, &ask);
    cli_interrupt_end();
    int status = asked ? cli_dumped_wait(cli, &dumped, seconds) : cli_wrong(cli, "%s", ask.error);
    if (status == CLI_DONE) status = say(cli, &dumped.request);
    attach_vm_close(vm);
    return status;
}

static int
run(struct cli *cli)
{
    long seconds;

    if (cli->values[CLI_CORE]) {
        return cli_wrong(cli,
                         "%s: a core has no object graph: only functions of the running process "
                         "know what objects"
                         " refer to. Use `heapprof snapshot --core` or `heapprof stacks --core`",
                         cli_name(cli->values[CLI_CORE]));
    }
    if (cli->operand_count == 0) return cli_usage(cli, "PID is missing");
    if (!cli_number(cli, CLI_TIMEOUT, 1, 30, &seconds)) return CLI_USAGE;
    int error = cli->values[CLI_OUTPUT] ? rb_heapprof_file_check(cli->values[CLI_OUTPUT]) : 0;
    if (error) return cli_wrong(cli, "%s: %s", cli->values[CLI_OUTPUT], strerror(error));
    struct attach_target *target = cli_attach_open(cli, cli->operands[0], CLI_ATTACH_AND_SIGNAL);
    if (!target) return CLI_WRONG;
    int status = ask(cli, target, seconds);
    attach_target_close(target);
    return status;
}

static const struct cli_option options[] = {
    {CLI_TIMEOUT, NULL, "How long to wait until the process begins (default: 30)"},
    {CLI_OUTPUT, NULL, "Write it there (default: where the process writes it)"},
    {CLI_CORE, NULL, "A core has no dump to give: says which commands read it"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph dump 4242", "prints the name of the file when it is complete"},
    {"heapprof graph report $(heapprof graph dump 4242)", "what keeps most of its memory alive"},
    {0}
};

const struct cli_command cli_graph_dump_command = {
    .name = "graph dump",
    .arguments = "[options] PID",
    .summary = "Ask a running process for a dump of its objects",
    .description =
        "The process may have been started with nothing set; it has to run a ruby with the heap\n"
        "profiler. A copy of the process writes the file, while the process continues. This\n"
        "command waits for the file, and prints its name. How long the process had to wait for\n"
        "its copy is printed to stderr. When and how the process is asked: `heapprof start\n"
        "--help`.\n"
        "\n"
        "The file is written in this directory, if the process sees it and may write there, and\n"
        "otherwise in /tmp; with --output, only the file of that name remains. A process with\n"
        "RUBY_HEAPGRAPH=signal=URG,out=FILE, or with another signal, gets that signal, and\n"
        "chooses the place itself; --output copies the file. The file has no values of the\n"
        "program. `heapprof stacks --help` lists the rights that are needed.",
    .readers =
        "the owner of the file alone (mode 0600), who is the user of the process; of a copy\n"
        "(--output), the user who runs heapprof.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 1,
    .operand = CLI_PIDS,
    .writes_output = true,
    .run = run,
};
