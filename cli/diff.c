/* diff.c - heapprof diff: what has grown. */
#include "cli/table.h"

static const struct cli_option options[] = {CLI_TABLE_OPTIONS, {0}};

static const struct cli_example examples[] = {
    {"heapprof diff before.pb.gz after.pb.gz", "which lines of the application, and which call sites, hold more than before"},
    {"heapprof diff before.pb.gz after.pb.gz --group class", "which classes"},
    {"heapprof diff heapprof-*.pb.gz", "of a series: first what kept growing, as a leak does; of workers, all together"},
    {0}
};

const struct cli_command cli_diff_command = {
    .name = "diff", .arguments = "OLD NEW... [--by=TYPE] [--group=GROUP] [-n N]",
    .summary = "What has grown from one profile to the next: where a leak is",
    .description =
        "Shows what grew most from the first profile to the last, and by how much; what shrank comes last. Of\n"
        "three or more profiles, in the order of their times, what kept growing comes first, in the first half of the\n"
        "work (of what was allocated) and in the second: a leak does, a full cache does not.\n"
        "\n"
        "Files of several processes, as a server with workers writes them (--every), are added up: what a row has is\n"
        "of all processes, and its growth is of each from its first file to its last. A file that its process has removed\n"
        "meanwhile is told and left out; the exit status is 0 as long as two are left.\n"
        "\n"
        "What is marked with ~ has grown by no more than its error, and cannot be told from noise. Of two\n"
        "profiles of one run only what came and went between them has an error: what stayed was measured by the\n"
        "same samples.",
    .options = options, .examples = examples, .least = 2, .most = 1000, .run = cli_table,
};
