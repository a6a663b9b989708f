/* graph_convert.c - heapprof graph convert: a dump in a format of others. */
#include <stdlib.h>
#include <string.h>

#include "cli/graph.h"
#include "graph/export.h"

enum {TO = CLI_GRAPH_JSON};

static int
convert(const struct cli *cli, struct cli_graph *graph)
{
    static const struct {const char *name; heapprof_graph_export_i *export;} formats[] = {
        {"heapsnapshot", rb_heapprof_graph_heapsnapshot}, {"jsonl", rb_heapprof_graph_jsonl}, {"dot", rb_heapprof_graph_dot},
    };
    struct heapprof_graph_source source = {&graph->graph, &graph->dominators, &graph->dominator_tree};
    struct heapprof_model *model;
    int status;

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(cli->values[TO], formats[i].name)) continue;
        return formats[i].export(stdout, &source) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    model = rb_heapprof_graph_model(&source);
    status = model ? cli_save(cli, model, NULL) : cli_wrong(cli, "no memory");
    rb_heapprof_model_free(model);
    return status;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    int status;

    if (!cli->values[TO]) return cli_usage(cli, "--to is missing");
    status = cli_graph_read(cli, cli->operands[0], &graph, CLI_GRAPH_DOMINATOR_TREE);
    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = convert(cli, &graph);
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    {"--to", 't', "FORMAT", "pprof heapsnapshot jsonl dot", "Which format"},
    CLI_GRAPH_MEMORY_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph convert app.graph --to heapsnapshot > app.heapsnapshot", "for the Memory panel of Chromium's DevTools, and memlab"},
    {"heapprof graph convert app.graph --to pprof > kept.pb.gz", "a profile of who keeps what: heapprof view kept.pb.gz"},
    {"heapprof graph convert app.graph --to dot | dot -Tsvg > app.svg", "a picture of the dominator tree, by graphviz"},
    {0}
};

const struct cli_command cli_graph_convert_command = {
    .name = "graph convert", .arguments = "FILE --to=FORMAT",
    .summary = "Write a dump in another format",
    .description =
        "Writes what is alive to stdout in a format of others: heapsnapshot (of V8), jsonl (the lines of\n"
        "ObjectSpace.dump_all), dot (what the tree command shows, for graphviz), pprof (the tree as call stacks: a frame's\n"
        "sum is what it retains).",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
