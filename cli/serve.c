/* serve.c - heapprof serve: the profiles of all Ruby processes of a host over HTTP. */
#include "cli/serve.h"

static int
run(struct cli *cli)
{
    if (!cli->values[CLI_SERVE_LISTEN]) return cli_usage(cli, "--listen is missing");
    return cli_serve(cli);
}

static const struct cli_option options[] = {
    {"--listen", 'l', "WHERE", NULL, "127.0.0.1:6066, or the path of a socket file"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof serve --listen 127.0.0.1:6066", "profiles of every Ruby of this host"},
    {"go tool pprof http://127.0.0.1:6066/4242/debug/pprof/heap", "one of them, with Go's tools"},
    {0}
};

const struct cli_command cli_serve_command = {
    .name = "serve", .arguments = "--listen=ADDRESS:PORT | --listen=PATH",
    .summary = "Serve the profiles of all Ruby processes of a host over HTTP",
    .description =
        "Finds the Ruby processes that it may read, and serves each one's profiles, read from outside, as Go's servers\n"
        "have them: /PID/debug/pprof/heap, allocs, profile?seconds=10 and threads; also /debug/pprof/heap?pid=PID.\n"
        "/targets lists them for scrapers (Prometheus' HTTP service discovery: Parca, Grafana Alloy), with the process's\n"
        "name, title, pid and container.\n"
        "\n"
        "It answers requests from this host. With HEAPPROF_TOKEN set it also answers those that have it, as\n"
        "\"Authorization: Bearer TOKEN\", and may listen at addresses of others. A socket file is for its owner alone.",
    .options = options, .examples = examples, .least = 0, .most = 0, .run = run,
};
