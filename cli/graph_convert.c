/* graph_convert.c - heapprof graph convert: a dump in a format of others. */
#include <stdlib.h>
#include <string.h>

#include "cli/graph.h"
#include "graph/export.h"
#include "graph/identity.h"

enum {TO = CLI_GRAPH_JSON};

/* A dump whose objects have ids. */
struct numbered {
    struct cli_graph graph;
    struct heapprof_graph_ids ids;
};

static int
convert(const struct cli *cli, struct numbered *numbered)
{
    static const struct {const char *name; heapprof_graph_export_i *export;} formats[] = {
        {"heapsnapshot", rb_heapprof_graph_heapsnapshot}, {"jsonl", rb_heapprof_graph_jsonl}, {"dot", rb_heapprof_graph_dot},
    };
    struct cli_graph *graph = &numbered->graph;
    struct heapprof_graph_source source = {&graph->graph, &graph->dominators, &graph->dominator_tree, numbered->ids.ids};
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

/* ---- reading ---- */

/* Numbers the dump's objects as those before it did; ends with the status of what was told. */
static int
number(const struct cli *cli, struct numbered *now, const struct numbered *before)
{
    const char *why = before ? rb_heapprof_graph_inexact(&before->graph.graph, &now->graph.graph) : NULL;

    if (why) return cli_wrong(cli, "objects of these dumps cannot be told from one another: %s", why);
    rb_heapprof_graph_sort_moves(&now->graph.graph);
    if (rb_heapprof_graph_ids_make(&now->ids, &now->graph.graph, before ? &before->graph.graph : NULL,
                                   before ? &before->ids : NULL)) return CLI_DONE;
    return cli_wrong(cli, "no memory");
}

static void
free_numbered(struct numbered *numbered)
{
    if (numbered->ids.space) rb_heapprof_graph_ids_free(&numbered->ids);
    cli_graph_free(&numbered->graph);
}

/* All dumps one after the other, in two places by turns. */
static int
read_all(const struct cli *cli, struct numbered dumps[2])
{
    int status = CLI_DONE;

    for (size_t i = 0; status == CLI_DONE && i < cli->operand_count; i++) {
        struct numbered *now = &dumps[i % 2];
        if (i > 1) free_numbered(now);
        *now = (struct numbered){0};
        status = cli_graph_load(cli, cli->operands[i], &now->graph);
        if (status == CLI_DONE) status = number(cli, now, i > 0 ? &dumps[(i - 1) % 2] : NULL);
    }
    return status;
}

static int
run(struct cli *cli)
{
    const char *path = cli->operands[cli->operand_count - 1];
    struct numbered dumps[2] = {0}, *last = &dumps[(cli->operand_count - 1) % 2];
    int status;

    if (!cli->values[TO]) return cli_usage(cli, "--to is missing");
    if (cli->operand_count > 1 && strcmp(cli->values[TO], "heapsnapshot")) {
        return cli_usage(cli, "--to=%s has no ids: one dump is enough", cli->values[TO]);
    }
    status = read_all(cli, dumps);
    if (status == CLI_DONE) status = cli_graph_find(cli, path, &last->graph, CLI_GRAPH_DOMINATOR_TREE);
    if (status == CLI_DONE) {
        cli_graph_warn(cli, path, &last->graph);
        status = convert(cli, last);
    }
    free_numbered(&dumps[0]);
    free_numbered(&dumps[1]);
    return status;
}

static const struct cli_option options[] = {
    {"--to", 't', "FORMAT", "pprof heapsnapshot jsonl dot", "Which format"},
    CLI_GRAPH_MEMORY_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph convert app.graph --to heapsnapshot > app.heapsnapshot", "for the Memory panel of Chromium's DevTools, and memlab"},
    {"heapprof graph convert 1.graph 2.graph --to heapsnapshot > 2.heapsnapshot", "the second, with ids that the first one alone gets, too"},
    {"heapprof graph convert app.graph --to pprof > kept.pb.gz", "a profile of who keeps what: heapprof view kept.pb.gz"},
    {"heapprof graph convert app.graph --to dot | dot -Tsvg > app.svg", "a picture of the dominator tree, by graphviz"},
    {0}
};

const struct cli_command cli_graph_convert_command = {
    .name = "graph convert", .arguments = "[EARLIER...] FILE --to=FORMAT",
    .summary = "Write a dump in another format",
    .description =
        "Writes what is alive to stdout in a format of others: heapsnapshot (of V8), jsonl (the lines of\n"
        "ObjectSpace.dump_all), dot (what the tree command shows, for graphviz), pprof (the tree as call stacks: a frame's\n"
        "sum is what it retains).\n\n"
        "Viewers that compare heapsnapshots know an object by its id. Name the dumps that came before, the first one first:\n"
        "then an object has the same id in the files made of 1, of 1 2 and of 1 2 3.",
    .options = options, .examples = examples, .least = 1, .most = SIZE_MAX, .run = run,
};
