/* convert.c - heapprof convert: a profile in a format of others. */
#include "cli/cli.h"

#include <string.h>

#include "report/export.h"

enum {TO = 1, BY};

static const struct {
    const char *name;
    report_export_i *export;
} formats[] = {
    {"json", report_export_json},
};

static report_export_i *
find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!strcmp(formats[i].name, name)) return formats[i].export;
    }
    return NULL;
}

static int
run(struct cli *cli)
{
    struct heapprof_model *model;
    uint32_t type;
    bool done;

    if (!cli->values[TO]) return cli_usage(cli, "--to is missing");
    model = cli_read(cli, cli->operands[0]);
    if (!model) return CLI_WRONG;
    done = cli_type(cli, cli->operands[0], model, cli->values[BY], &type);
    if (done && !find_format(cli->values[TO])(stdout, model, type)) {
        done = false;
        cli_wrong(cli, "no memory");
    }
    rb_heapprof_model_free(model);
    return done ? cli_finish(cli) : CLI_WRONG;
}

static const struct cli_option options[] = {
    {"--to", 't', "FORMAT", "json", "Which format"},
    {"--by", 0, "TYPE", "inuse_space inuse_objects alloc_space alloc_objects ...",
     "Which of the values, where the format has one"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof convert heap.pb.gz --to json | jq .comments", "all that the file says, as JSON"},
    {0}
};

const struct cli_command cli_convert_command = {
    .name = "convert", .arguments = "FILE --to=FORMAT",
    .summary = "Write a profile in another format",
    .description = "Writes the profile to stdout in a format of others.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
