/* convert.c - heapprof convert: writes a profile in the format of another tool. */
#include "cli/cli.h"

#include <string.h>

#include "pprof/root.h"
#include "report/export.h"

/* Whether a sample has a value below 0. The profile is then a difference. */
static bool
negative_p(const struct heapprof_model *model)
{
    struct heapprof_samples samples;
    bool negative = false;

    if (rb_heapprof_samples_begin(&samples, model)) {
        while (!negative && rb_heapprof_samples_next(&samples)) {
            for (uint32_t i = 0; i < model->type_count; i++)
                negative = negative || samples.values[i] < 0;
        }
    }
    rb_heapprof_samples_end(&samples);
    return negative;
}

/* Frames then differ by their functions only. */
static void
drop_lines(struct heapprof_model *model)
{
    for (uint32_t i = 0; i < model->line_count; i++)
        model->lines[i].line = model->lines[i].column = 0;
}

static int
convert(struct cli *cli, const struct heapprof_model *model)
{
    const struct report_format *format = report_format_find(cli->values[CLI_TO]);
    const char *path = cli->operands[0];
    uint32_t type;

    if (!cli_type(cli, path, model, cli->values[CLI_BY], &type)) return CLI_WRONG;
    if (format->positive && negative_p(model)) {
        return cli_wrong(cli, "%s: has values below 0, which %s cannot show", cli_name(path),
                         cli->values[CLI_TO]);
    }
    if (!format->write) return cli_save(cli, model, cli->values[CLI_OUTPUT]);
    FILE *out = cli_output_open(cli);
    if (!out) return CLI_WRONG;
    return format->write(out, model, type) ? cli_output_end(cli, out)
                                                    : cli_wrong(cli, "no memory");
}

static int
run(struct cli *cli)
{
    struct heapprof_model *model;
    int status;

    if (!cli->values[CLI_TO]) return cli_usage(cli, "--to=FORMAT is missing");
    model = cli_read(cli, cli->operands[0]);
    if (!model) return CLI_WRONG;
    if (cli->values[CLI_NO_LINES]) drop_lines(model);
    const char *root = cli->values[CLI_ROOT];
    status = root && !rb_heapprof_model_root(model, root + sizeof("label:") - 1)
                 ? cli_wrong(cli, "no memory") : convert(cli, model);
    rb_heapprof_model_free(model);
    return status;
}

static const struct cli_option options[] = {
    {CLI_TO, "pprof collapsed speedscope json csv perfetto svg callgrind firefox", "Which format"},
    {CLI_BY, "inuse_space inuse_objects alloc_space alloc_objects peak_space temp_space ...",
     "Which value to write, if the format has only one"},
    {CLI_ROOT, "label:KEY", "Let stacks begin with the value of that label, as label:endpoint"},
    {CLI_NO_LINES, NULL, "Write functions without their lines"},
    CLI_OUTPUT_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof convert heap.pb.gz --to svg -o heap.svg",
      "a flame graph, for a browser or a report" },
    { "heapprof convert heap.pb.gz --to speedscope -o heap.speedscope.json",
      "for speedscope, with every sample type" },
    { "heapprof convert heap.pb.gz --to perfetto --root label:endpoint -o heap.perfetto",
      "for Perfetto, where each stack then begins with its endpoint" },
    { "heapprof convert heap.pb.gz --to json | jq .comments", "all that the file says, as JSON" },
    { 0 }
};

const struct cli_command cli_convert_command = {
    .name = "convert",
    .arguments = "FILE --to=FORMAT [-o FILE]",
    .summary = "Write a profile in another format",
    .description =
        "Writes the profile in one of these formats: pprof (gzip'd), collapsed (a line\n"
        "for each stack), speedscope, json (everything that is in the file), csv (a line for each\n"
        "sample), perfetto (a trace like those of heapprofd), svg (a flame graph as a picture),\n"
        "callgrind (for KCachegrind and callgrind_annotate), firefox (for profiler.firefox.com).\n"
        "Labels of samples are in pprof, json and csv. The other formats have none; there --root\n"
        "puts one of them at the root of the stacks.",
    .readers = "with --output only the owner of the file (mode 0600). A file that the shell makes "
               "of stdout (>) has the\n"
               "mode that its umask leaves.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 1,
    .writes_output = true,
    .run = run,
};
