/* merge.c - heapprof merge: adds several profiles up to one. */
#include "cli/several.h"

#include <stdlib.h>

static int
merge(struct cli *cli, struct heapprof_model *const *models, const char *const *names)
{
    struct heapprof_model *sum =
        cli_add_up(cli, (const struct heapprof_model *const *)models, names, cli->operand_count);
    int status = sum ? cli_save(cli, sum, cli->values[CLI_OUTPUT]) : CLI_WRONG;

    rb_heapprof_model_free(sum);
    return status;
}

static int
run(struct cli *cli)
{
    size_t count = cli->operand_count, read = 0;

    if (!cli_profile_name_p(cli)) return CLI_USAGE;
    struct heapprof_model **models = calloc(count, sizeof(*models));
    const char **names = calloc(count, sizeof(*names));
    int status = CLI_WRONG;

    if (!models || !names) status = cli_wrong(cli, "no memory");
    else {
        read = cli_read_operands(cli, models, names);
        if (read == cli->operand_count) status = merge(cli, models, names);
    }
    while (read > 0) rb_heapprof_model_free(models[--read]);
    free(models);
    free(names);
    return status;
}

static const struct cli_option options[] = {
    {CLI_OUTPUT, NULL, "Write the sum there (default: stdout)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof merge heap-*.pb.gz -o all.pb.gz", "the sum of all workers' profiles"},
    {0}
};

const struct cli_command cli_merge_command = {
    .name = "merge",
    .arguments = "FILE... [-o FILE]",
    .summary = "Add profiles up, such as those of a server's workers",
    .description =
        "Writes the sum of the profiles, gzip'd. Functions are the same if name, file and first\n"
        "line are the same; samples are, if stack and labels are. All profiles have to have the\n"
        "same sample types. If a process has written several files, give only one of them: each\n"
        "has everything that was alive. A file that a running process has removed from its series\n"
        "meanwhile is left out, with a line on stderr.",
    .readers = "with --output only the owner of the file (mode 0600). A file that the shell makes "
               "of stdout (>) has the\n"
               "mode that its umask leaves.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 10000,
    .writes_output = true,
    .run = run,
};
