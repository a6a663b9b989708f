/* top.c - heapprof top: what is largest. */
#include "cli/table.h"

static const struct cli_option options[] = {CLI_TABLE_OPTIONS, {0}};

static const struct cli_example examples[] = {
    {"heapprof top heap.pb.gz", "which lines of the application, and which call sites, hold most of the memory"},
    {"heapprof top heap.pb.gz --group class", "which classes"},
    {"heapprof top heap.pb.gz --group gem --by alloc_space", "which gems allocate most, also what has died"},
    {"heapprof top heap.pb.gz --focus 'Cart#' -n 5", "only what the cart allocates"},
    {0}
};

const struct cli_command cli_top_command = {
    .name = "top", .arguments = "FILE [--by=TYPE] [--group=GROUP] [-n N]",
    .summary = "What is largest: by call site, function, class, gem, line of the application",
    .description =
        "Adds the samples of the profile up and shows the largest rows: the value, how far it may be off, its\n"
        "share, the sum of the shares so far, how many objects it is in, and their mean age in garbage\n"
        "collections. Functions, files and gems also have what was called from there (cum). 1 MB is 2^20 bytes.\n"
        "\n"
        "A value is an estimate: the true one is within \xc2\xb1 19 times out of 20. What is marked with ~ is no more\n"
        "than its error, and cannot be told from noise.\n"
        "\n"
        "Without --group it shows the lines of the application that matter most, then the call sites.\n"
        "\n"
        "Groups: site (class, and the whole stack), function, class, file, gem, app (the innermost line of the\n"
        "application's own code), label:KEY (any label of the file).",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = cli_table,
};
