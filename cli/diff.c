/* diff.c - heapprof diff: shows what has grown. */
#include "cli/table.h"

static int
run(struct cli *cli)
{
    return cli_table(cli, CLI_TABLE_OF_GROWTH);
}

static const struct cli_option options[] = {
    CLI_TABLE_OPTIONS,
    {CLI_FAIL_OVER, NULL,
     "Exit with status 3 if the growth, less its error, is more than SIZE: 5MB, 512k"},
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof diff before.pb.gz after.pb.gz",
      "which lines of the application, and which call sites, hold more than before" },
    { "heapprof diff before.pb.gz after.pb.gz --group class", "which classes" },
    { "heapprof diff heapprof-*.pb.gz",
      "of a series: first what kept growing, as a leak does; of workers, all together" },
    { "heapprof diff before.pb.gz after.pb.gz --fail-over=5MB --github",
      "in a workflow of GitHub: fails, and marks the lines that grew" },
    { 0 }
};

const struct cli_command cli_diff_command = {
    .name = "diff",
    .arguments = "OLD NEW... [--by=TYPE] [--group=GROUP] [-n N] [--fail-over=SIZE]",
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
        "was measured by the same samples.\n"
        "\n"
        CLI_TABLE_FINDINGS_HELP "\n"
        "Only rows that grew by more than their error are written then.\n"
        "\n"
        "With --fail-over=SIZE the exit status is 3 if the growth of all that is shown, less its\n"
        "error, is more than SIZE; a line on stderr says so. --focus, --ignore and --by say what\n"
        "counts. The other statuses are 1, if a file is wrong, and 2, if the command line is.",
    .options = options,
    .examples = examples,
    .least = 2,
    .most = 1000,
    .run = run,
};
