/* dump.c - `heapprof graph dump`: asks a running process for a dump of its object graph. */
#include "cli/cli.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "attach/graph_request.h"
#include "cli/live/attach.h"
#include "os/clock.h"
#include "os/signals.h"
#include "report/text.h"

enum {TIMEOUT = 1, CORE};

#define LOOK_EVERY_MS 5
#define LOOK_FOR_COPY_NS INT64_C(250000000)

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
    const char *process = request->vm->target->name, *signal = rb_heapprof_signal_name(request->signal_number);
    char amount[REPORT_AMOUNT_MAX];

    switch (request->state) {
      case ATTACH_GRAPH_WRITTEN:
        report_print(stdout, "%s\n", request->answer);
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
        return cli_wrong(cli, "%s: does not answer: it handles SIG%s itself, or is busy in C code; it will"
                         " write the file when it can", process, signal);
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

    if (cli->values[CORE]) {
        return cli_wrong(cli, "%s: a core has no object graph: only functions of the running process know what objects"
                         " refer to. Use `heapprof snapshot --core` or `heapprof stacks --core`", cli_name(cli->values[CORE]));
    }
    if (cli->operand_count == 0) return cli_usage(cli, "a PID is missing");
    if (!cli_number(cli, TIMEOUT, 1, 30, &seconds)) return CLI_USAGE;
    struct attach_target *target = cli_attach_open(cli, cli->operands[0], CLI_ATTACH_AND_SIGNAL);
    if (!target) return CLI_WRONG;
    int status = ask(cli, target, seconds * INT64_C(1000000000));
    attach_target_close(target);
    return status;
}

static const struct cli_option options[] = {
    {"--timeout", 't', "SECONDS", NULL, "How long to wait until the process begins (default: 30)"},
    {"--core", 'c', "FILE", "FILE", "A core has no dump to give: says which commands read it"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph dump 4242", "prints the name of the file when it is complete"},
    {"heapprof graph report $(heapprof graph dump 4242)", "what keeps most of its memory alive"},
    {0}
};

const struct cli_command cli_graph_dump_command = {
    .name = "graph dump", .arguments = "[options] PID",
    .summary = "Ask a running process for a dump of its objects",
    .description =
        "The process must have been started with RUBY_HEAPGRAPH=signal=URG,out=FILE or with\n"
        "another signal. This command sends the signal, waits until a copy of the process\n"
        "has written the file, and prints its name. Meanwhile the process continues. How\n"
        "long it had to wait for its copy is printed to stderr.\n"
        "\n"
        "The process chooses the place of the file, in its own file system. The file has no\n"
        "values of the program. `heapprof stacks --help` lists the rights that are needed.",
    .readers =
        "the owner of the file alone (mode 0600), who is the user of the process.",
    .options = options, .examples = examples, .least = 0, .most = 1, .run = run,
};
