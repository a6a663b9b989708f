/* version.c - heapprof version: which product this is, and which ruby it comes with. */
#include <stdio.h>

#include "base/version.h"
#include "cli/cli.h"

#define TEXT(macro) TEXT_OF(macro)
#define TEXT_OF(text) #text

const char cli_ruby_version[] = TEXT(HEAPPROF_RUBY_VERSION);

static int
run(struct cli *cli)
{
    printf(HEAPPROF_NAME " " HEAPPROF_VERSION ", for ruby %s\n", cli_ruby_version);
    return cli_finish(cli);
}

static const struct cli_option options[] = {{0}};

static const struct cli_example examples[] = {
    {"heapprof version", "the first line of a report of what is wrong"},
    {0}
};

const struct cli_command cli_version_command = {
    .name = "version", .arguments = "[--help]",
    .summary = "Which version this is, and of which ruby",
    .description =
        "Prints the version of this product and that of the ruby it comes with. CHANGELOG.md has an entry for each version. What\n"
        "a file was written by, heapprof info FILE and heapprof graph info FILE say.",
    .options = options, .examples = examples, .least = 0, .most = 0, .run = run,
};
