/* dump.c - `heapprof graph dump`: asks a running process for a dump of its object graph. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "attach/graph_request.h"
#include "cli/live/attach.h"
#include "dump/format.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"
#include "report/text.h"

#define LOOK_EVERY_MS 5
#define LOOK_FOR_COPY_NS INT64_C(250000000)

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

/* Waits until the file is complete or has failed. The timeout covers only the time until the
 * process begins. */
static void
follow(struct attach_graph_request *request, int64_t begin_ns)
{
    struct pollfd end = {.fd = request->vm->target->end_fd, .events = POLLIN};
    int64_t begin = rb_heapprof_clock_ns(CLOCK_MONOTONIC), next = begin;

    while (attach_graph_request_look(request) <= ATTACH_GRAPH_BEGUN) {
        int64_t now = rb_heapprof_clock_ns(CLOCK_MONOTONIC);
        if (request->state == ATTACH_GRAPH_ASKED && now - begin > begin_ns) return;
        if (request->state == ATTACH_GRAPH_BEGUN && now >= next) {
            attach_graph_request_look_for_copy(request);
            next = now + LOOK_FOR_COPY_NS;
        }
        poll(&end, 1, LOOK_EVERY_MS);
    }
}

static int
say(struct cli *cli, const struct attach_graph_request *request)
{
    const char *process = request->vm->target->name,
               *signal = rb_heapprof_signal_name(request->signal_number);
    char amount[REPORT_AMOUNT_MAX];

    switch (request->state) {
      case ATTACH_GRAPH_WRITTEN:
        if (cli->values[CLI_OUTPUT] && copy(cli, request) != CLI_DONE) return CLI_WRONG;
        report_print(stdout, "%s\n",
                     cli->values[CLI_OUTPUT] ? cli->values[CLI_OUTPUT] : request->answer);
        report_amount(amount, (double)request->file_bytes, "bytes");
        report_print(stderr, "heapprof graph dump: %s, %s waited for %.1f ms\n", amount, process,
                     (double)request->pause_ns / 1e6);
        return cli_finish(cli);
      case ATTACH_GRAPH_REFUSED:
        return cli_wrong(cli, "%s: %s", process, request->answer);
      case ATTACH_GRAPH_FAILED:
        return cli_wrong(cli, "%s: cannot write %s: %s", process, request->answer,
                         strerror(request->error_number));
      case ATTACH_GRAPH_LOST:
        return cli_wrong(cli, "%s: its copy ended before %s was written", process, request->answer);
      case ATTACH_GRAPH_ENDED:
        return cli_wrong(cli, "%s: it has ended%s%s", process,
                         *request->answer ? "; a copy of it may still write " : "",
                         request->answer);
      case ATTACH_GRAPH_ASKED:
        if (attach_graph_request_stopped_p(request)) {
            return cli_wrong(cli, "%s: is stopped; it will write the file when it continues",
                             process);
        }
        return cli_wrong(
            cli,
            "%s: does not answer: it handles SIG%s itself, or is busy in C code; it will"
            " write the file when it can",
            process, signal);
      default:
        return CLI_WRONG;
    }
}

static int
ask(struct cli *cli, struct attach_target *target, int64_t begin_ns)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    struct attach_graph_request request;
    struct attach_vm *vm = attach_vm_open(target, error);

    if (!vm) return cli_wrong(cli, "%s", error);
    bool sent = attach_graph_request_send(&request, vm, error);
    if (sent) follow(&request, begin_ns);
    int status = sent ? say(cli, &request) : cli_wrong(cli, "%s", error);
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
    int status = ask(cli, target, seconds * INT64_C(1000000000));
    attach_target_close(target);
    return status;
}

static const struct cli_option options[] = {
    {CLI_TIMEOUT, NULL, "How long to wait until the process begins (default: 30)"},
    {CLI_OUTPUT, NULL, "Copy the file there, too (default: only where the process writes it)"},
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
        "The process must have been started with RUBY_HEAPGRAPH=signal=URG,out=FILE or with\n"
        "another signal. This command sends the signal, waits until a copy of the process\n"
        "has written the file, and prints its name. Meanwhile the process continues. How\n"
        "long it had to wait for its copy is printed to stderr.\n"
        "\n"
        "The process chooses the place of the file, in its own file system. With --output the\n"
        "file is copied, and the name of the copy is printed. The file has no values of the\n"
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
