/* version.c - heapprof version: shows which product this is, and which ruby it comes with. */
#include <stdio.h>

#include "base/mri.h"
#include "base/version.h"
#include "cli/cli.h"

const char cli_ruby_version[] = HEAPPROF_MRI_VERSION;

static int
run(struct cli *cli)
{
    printf(HEAPPROF_NAME " " HEAPPROF_VERSION ", for ruby %s%s\n", cli_ruby_version,
           HEAPPROF_MRI_TESTED ? "" : " " HEAPPROF_UNTESTED);
    return cli_finish(cli);
}

static const struct cli_option options[] = {{0}};

static const struct cli_example examples[] = {
    {"heapprof version", "the first line of a bug report"},
    {0}
};

const struct cli_command cli_version_command = {
    .name = "version",
    .arguments = "[--help]",
    .summary = "Print the version of heapprof and of its ruby",
    .description =
        "Prints the version of this product and the version of the ruby it comes with.\n"
        "\"" HEAPPROF_UNTESTED "\" means: not all checks have passed on this version of ruby.\n"
        "CHANGELOG.md has an entry for each version. To see which version wrote a file, type\n"
        "heapprof info FILE or heapprof graph info FILE.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 0,
    .operand = CLI_OTHER,
    .run = run,
};
