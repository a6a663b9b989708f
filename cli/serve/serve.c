/* serve.c - heapprof serve: serves the profiles of all Ruby processes of a host over HTTP. */
#include "cli/serve/serve.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* The socket file if none is given: of root, or of a user whose session has a directory of its
 * own, which no other user can enter. Returns false if there is no such directory. */
static bool
default_socket(char path[PATH_MAX])
{
    const char *directory = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
    int length = directory && *directory == '/'
                     ? snprintf(path, PATH_MAX, "%s/heapprof.sock", directory) : 0;

    return length > 0 && length < PATH_MAX;
}

static int
run(struct cli *cli)
{
    char path[PATH_MAX];

    if (cli->values[CLI_LISTEN]) return cli_serve(cli, cli->values[CLI_LISTEN]);
    if (default_socket(path)) return cli_serve(cli, path);
    return cli_usage(cli, "--listen is missing, and XDG_RUNTIME_DIR is not set: give "
                          "--listen=PATH of a socket file, or --listen=127.0.0.1:6066");
}

static const struct cli_option options[] = {
    { CLI_LISTEN, NULL,
      "Listen there: the path of a socket file, or 127.0.0.1:6066 (default: the file "
      "heapprof.sock in /run, or in XDG_RUNTIME_DIR if you are not root)" },
    { CLI_AT, NULL,
      "Have each process write a profile when its memory crosses a mark: 85% of its limit, a size "
      "such as 512m of RSS, or up to four of these, as 70%/90%" },
    { CLI_OUTPUT, NULL,
      "Name of the profiles of --at, as of `heapprof start` (default: heapprof-%p.pb.gz where the "
      "process was started)" },
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof serve", "profiles of every Ruby of this host, at a socket file" },
    { "heapprof serve --listen 127.0.0.1:6066", "the same at a port" },
    { "heapprof serve --at=85% -o '/var/tmp/%e-%p.pb.gz'",
      "the same; each Ruby writes a profile before it is killed for its memory" },
    { "go tool pprof http://127.0.0.1:6066/4242/debug/pprof/heap",
      "Go's tools connect only to a port" },
    { 0 }
};

const struct cli_command cli_serve_command = {
    .name = "serve",
    .arguments = "[options]",
    .summary = "Serve the profiles of all Ruby processes of a host over HTTP",
    .description =
        "Finds the Ruby processes that it may read, and serves the profiles of each under the\n"
        "paths that Go's servers have: /PID/debug/pprof/heap, allocs, profile?seconds=10 and\n"
        "threads; also /debug/pprof/heap?pid=PID. It reads the profiles from outside. / is a page\n"
        "of all processes, and /PID/debug/pprof/ a page of one. /targets lists the processes for\n"
        "scrapers (Prometheus' HTTP service discovery: Parca, Grafana Alloy), with name, title,\n"
        "pid and container.\n"
        "\n"
        "curl can open a socket file. Browsers and Go's tools cannot: they need a port.\n"
        "\n"
        "curl --unix-socket /run/heapprof.sock http://localhost/4242/debug/pprof/heap "
        "-o heap.pb.gz\n"
        "\n"
        "heap?seconds=10 and allocs?seconds=10 show what changes in that time, heap?debug=1 is\n"
        "text. A parameter that a path does not have is an error. seconds is at most 60, or 600\n"
        "with HEAPPROF_TOKEN.\n"
        "\n"
        "Each request is read by a process of its own. At most 4 heaps, 4 changes of a heap, 64\n"
        "profiles over time and 8 looks at threads are read at once. Further requests wait for\n"
        "their turn. If 256 wait already, the answer is 503. A client that goes away frees its\n"
        "place at once.\n"
        "\n"
        "With --at it also asks each Ruby that it finds, once, to write a profile when its memory\n"
        "crosses a mark, as `heapprof start --at PID` does; new processes within five seconds. A\n"
        "line on stderr says what comes of it. Processes that were started with marks of their\n"
        "own keep these, and one that was started with RUBY_HEAPPROF=locked refuses. They go on\n"
        "when the server ends.",
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
    .writes_output = true,
    .run = run,
};
