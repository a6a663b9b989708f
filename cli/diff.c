/* diff.c - heapprof diff: shows what has grown. */
#include "cli/table.h"

static int
run(struct cli *cli)
{
    return cli_table(cli, CLI_TABLE_OF_GROWTH);
}

static const struct cli_option options[] = {CLI_TABLE_OPTIONS, {0}};

static const struct cli_example examples[] = {
    { "heapprof diff before.pb.gz after.pb.gz",
      "which lines of the application, and which call sites, hold more than before" },
    { "heapprof diff before.pb.gz after.pb.gz --group class", "which classes" },
    { "heapprof diff heapprof-*.pb.gz",
      "of a series: first what kept growing, as a leak does; of workers, all together" },
    { 0 }
};

const struct cli_command cli_diff_command = {
    .name = "diff",
    .arguments = "OLD NEW... [--by=TYPE] [--group=GROUP] [-n N]",
    .summary = "What has grown from one profile to the next: where a leak is",
    .description =
        "Shows what grew most from the first profile to the last, and by how much. What shrank\n"
        "comes last. With three or more profiles, in the order of their times, the rows that kept\n"
        "growing come first: they grew in the first half of the work (measured by what was\n"
        "allocated) and in the second half. A leak does that, a full cache does not.\n"
        "\n"
        "Files of several processes, as a server with workers writes them (--every), are added\n"
        "up. A row's value is that of all processes. Its growth is that of each process from its\n"
        "first file to its last. If a running process has removed a file of its series meanwhile, "
        "a\n"
        "line on stderr says so, and the file is left out.\n"
        "\n"
        "A value with ~ has grown by no more than its error: it cannot be told from noise. With\n"
        "two profiles of one run, only what came and went between them has an error. What stayed\n"
        "was measured by the same samples.",
    .options = options,
    .examples = examples,
    .least = 2,
    .most = 1000,
    .run = run,
};
