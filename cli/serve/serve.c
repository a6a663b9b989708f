/* serve.c - heapprof serve: serves the profiles of all Ruby processes of a host over HTTP. */
#include "cli/serve/serve.h"

static int
run(struct cli *cli)
{
    if (!cli->values[CLI_LISTEN])
        return cli_usage(
            cli, "--listen is missing: give --listen=127.0.0.1:6066, or the path of a socket file");
    return cli_serve(cli);
}

static const struct cli_option options[] = {
    {CLI_LISTEN, NULL, "Listen there: 127.0.0.1:6066, or the path of a socket file"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof serve --listen 127.0.0.1:6066", "profiles of every Ruby of this host"},
    {"go tool pprof http://127.0.0.1:6066/4242/debug/pprof/heap", "one of them, with Go's tools"},
    {0}
};

const struct cli_command cli_serve_command = {
    .name = "serve",
    .arguments = "--listen=ADDRESS:PORT | --listen=PATH",
    .summary = "Serve the profiles of all Ruby processes of a host over HTTP",
    .description =
        "Finds the Ruby processes that it may read, and serves the profiles of each under the\n"
        "paths that Go's servers have: /PID/debug/pprof/heap, allocs, profile?seconds=10 and\n"
        "threads; also /debug/pprof/heap?pid=PID. It reads the profiles from outside. /targets\n"
        "lists the processes for scrapers (Prometheus' HTTP service discovery: Parca, Grafana\n"
        "Alloy), with name, title, pid and container.\n"
        "\n"
        "At most two profiles over time are recorded at once. Each takes at most 60 seconds, or\n"
        "600 with HEAPPROF_TOKEN.",
    .readers = "with HEAPPROF_TOKEN set, everybody who sends it, as \"Authorization: Bearer "
               "TOKEN\" or ?token=TOKEN, reads all that this\n"
               "program may read; it may listen at addresses of other hosts then. Without it, a "
               "client on this host, such as curl\n"
               "or go tool pprof, reads the processes of its own user that `heapprof snapshot` "
               "would read for that user, and root's\n"
               "reads all. A request through a proxy, or from a web page, is refused. A socket "
               "file is for its owner and root.\n"
               "The same of heapprof/rack; doc/production.md has the rule. A profile names "
               "methods, classes, files and the command\n"
               "line, and has no contents of objects.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 0,
    .operand = CLI_OTHER,
    .run = run,
};
