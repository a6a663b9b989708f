/* top.c - heapprof top: shows what is largest. */
#include "cli/several.h"
#include "cli/table.h"

static int
run(struct cli *cli)
{
    return cli_table(cli, CLI_TABLE_OF_SUM);
}

static const struct cli_option options[] = {CLI_TABLE_OPTIONS, {0}};

static const struct cli_example examples[] = {
    { "heapprof top heap.pb.gz",
      "which lines of the application, and which call sites, hold most of the memory" },
    { "heapprof top heapprof-*.pb.gz", "the same of all workers of a server" },
    { "heapprof top heap.pb.gz --group class", "which classes" },
    { "heapprof top heap.pb.gz --group gem --by alloc_space",
      "which gems allocate most, also what has died" },
    { "heapprof top heap.pb.gz --by temp_space",
      "which lines make most of what dies before its first garbage collection" },
    { "heapprof top heap.pb.gz --by peak_space", "what was alive when most was alive" },
    { "heapprof top heap.pb.gz --sort cum",
      "which action or job holds most, with all that it called" },
    { "heapprof top heap.pb.gz --focus 'Cart#' -n 5", "only what the cart allocates" },
    { "heapprof top heap.pb.gz --focus 'libxml2' --group gem",
      "whose code asks libxml2 for memory" },
    { 0 }
};

const struct cli_command cli_top_command = {
    .name = "top",
    .arguments = "FILE... [--by=TYPE] [--group=GROUP] [-n N]",
    .summary = "What is largest: by call site, function, class, gem, line of the application",
    .description =
        "Adds up the samples of the profile and shows the largest rows. The columns are: the\n"
        "value, how far it may be off, its share, the sum of the shares so far, how many objects\n"
        "it is in, and their mean age in garbage collections. Functions, files and gems also have\n"
        "a column for themselves and everything they called (cum); --sort=cum puts the largest of\n"
        "these first, also for lines of the application. 1 MB is 2^20 bytes.\n"
        "\n"
        CLI_SUM_HELP "\n"
        "\n"
        "A value is an estimate. In 19 of 20 cases the true value is within the error shown after\n"
        "\xc2\xb1. A value with ~ is no larger than its error: it cannot be told from noise. Rows\n"
        "below 1 kB and 0.1 % are only counted; -n 0 shows them, too.\n"
        "\n"
        "Without --group it shows the lines of the application that matter most, then the call\n"
        "sites.\n"
        "\n"
        "Groups: site (a class and the call stack that allocated it, as far as --frames shows\n"
        "it), function (by its name and the file that defines it), class, file, gem (also what "
        "its\n"
        "extension asks of malloc), library (that asks malloc), app (the innermost line of the\n"
        "application's own code), label:KEY (any label of the file). Memory of Ruby's own tables,\n"
        "[VM], has rows of its own in each group: no line is charged for it.\n"
        "\n"
        CLI_TABLE_FINDINGS_HELP,
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 1000,
    .run = run,
};
