/* convert.c - `heapprof graph convert`: writes a dump in the format of another program. */
#include <stdlib.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "graph/export.h"
#include "graph/identity.h"

static const struct format {
    const char *name;
    graph_export_i *export; /* NULL: pprof's, which is a profile */
    bool ids;                        /* it has them */
} formats[] = {
    {"heapsnapshot", graph_heapsnapshot, true}, {"heaptimeline", graph_heaptimeline, true},
    {"jsonl", graph_jsonl, false}, {"dot", graph_dot, false}, {"pprof", NULL, false},
};

/* A dump, and the ids of its objects. */
struct numbered {
    struct cli_graph graph;
    struct graph_ids ids;
};

static const struct format *
format_of(const struct cli *cli)
{
    const struct format *format = formats;

    while (strcmp(cli->values[CLI_TO], format->name))
        format++; /* it is one of them, as the option says */
    return format;
}

static int
convert(const struct cli *cli, struct numbered *numbered, const struct graph_moment *moments)
{
    struct cli_graph *graph = &numbered->graph;
    struct graph_source source = {&graph->graph, &graph->dominators, &graph->dominator_tree,
                                  numbered->ids.ids,
                                           moments, cli->operand_count};
    const struct format *format = format_of(cli);
    struct heapprof_model *model;
    int status;

    if (format->export) {
        FILE *out = cli_output_open(cli);
        if (!out) return CLI_WRONG;
        return format->export(out, &source) ? cli_output_end(cli, out)
                                            : cli_wrong(cli, "no memory");
    }
    model = graph_model(&source);
    status = model ? cli_save(cli, model, cli->values[CLI_OUTPUT]) : cli_wrong(cli, "no memory");
    rb_heapprof_model_free(model);
    return status;
}

/* ---- reading ---- */

/* Gives each object of the dump its id, the same as in the dumps before. Returns a status; an
 * error has been printed. */
static int
number(const struct cli *cli, struct numbered *now, const struct numbered *before)
{
    const char *why = before ? graph_inexact(&before->graph.graph, &now->graph.graph) : NULL;

    if (why) return cli_wrong(cli, "objects cannot be matched between these dumps: %s", why);
    graph_sort_moves(&now->graph.graph);
    if (graph_ids_make(&now->ids, &now->graph.graph, before ? &before->graph.graph : NULL,
                       before ? &before->ids : NULL)) return CLI_DONE;
    return cli_wrong(cli, "no memory");
}

static void
free_numbered(struct numbered *numbered)
{
    if (numbered->ids.space) graph_ids_free(&numbered->ids);
    cli_graph_free(&numbered->graph);
}

static struct graph_moment
moment_of(const struct numbered *numbered)
{
    const char *time = graph_fact(&numbered->graph.graph.names, "time"); /* nanoseconds */

    return (struct graph_moment){time ? strtoull(time, NULL, 10) : 0, numbered->ids.next};
}

/* Reads all dumps one after the other. Only the present one and the one before are in memory. */
static int
read_all(const struct cli *cli, struct numbered dumps[2], struct graph_moment *moments)
{
    int status = CLI_DONE;

    for (size_t i = 0; status == CLI_DONE && i < cli->operand_count; i++) {
        struct numbered *now = &dumps[i % 2];
        if (i > 1) free_numbered(now);
        *now = (struct numbered){0};
        status = cli_graph_load(cli, cli->operands[i], &now->graph, 0);
        if (status == CLI_DONE) status = number(cli, now, i > 0 ? &dumps[(i - 1) % 2] : NULL);
        if (status == CLI_DONE) moments[i] = moment_of(now);
    }
    return status;
}

static int
read_and_convert(const struct cli *cli, struct graph_moment *moments)
{
    const char *path = cli->operands[cli->operand_count - 1];
    struct numbered dumps[2] = {0}, *last = &dumps[(cli->operand_count - 1) % 2];
    /* A viewer of heapsnapshots finds dominators by itself, over all references. */
    int exactly = format_of(cli)->ids ? CLI_GRAPH_EXACTLY : cli_graph_exactly(cli);
    int status = read_all(cli, dumps, moments);

    if (status == CLI_DONE)
        status = cli_graph_find(cli, path, &last->graph, CLI_GRAPH_DOMINATOR_TREE | exactly);
    if (status == CLI_DONE) {
        cli_graph_warn(cli, path, &last->graph);
        status = convert(cli, last, moments);
    }
    free_numbered(&dumps[0]);
    free_numbered(&dumps[1]);
    return status;
}

static int
run(struct cli *cli)
{
    struct graph_moment *moments;
    int status;

    if (!cli->values[CLI_TO]) return cli_usage(cli, "--to=FORMAT is missing");
    if (cli->operand_count > 1 && !format_of(cli)->ids) {
        return cli_usage(cli,
                         "--to=%s takes one dump only: that format has no ids by which objects "
                         "of several could be matched",
                         cli->values[CLI_TO]);
    }
    moments = calloc(cli->operand_count, sizeof(*moments));
    status = moments ? read_and_convert(cli, moments) : cli_wrong(cli, "no memory");
    free(moments);
    return status;
}

static const struct cli_option options[] = {
    {CLI_TO, "pprof heapsnapshot heaptimeline jsonl dot", "Which format"},
    CLI_OUTPUT_OPTION,
    CLI_GRAPH_MEMORY_OPTION,
    CLI_GRAPH_EXACT_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph convert app.graph --to heapsnapshot -o app.heapsnapshot",
     "for the Memory panel of Chromium's DevTools, and for memlab"},
    {"heapprof graph convert 1.graph 2.graph --to heapsnapshot -o 2.heapsnapshot",
     "the second dump; ids are the same as in a file made of the first"},
    {"heapprof graph convert 1.graph 2.graph 3.graph --to heaptimeline -o app.heaptimeline",
     "the third dump, on DevTools' timeline: what was new in each"},
    {"heapprof graph convert app.graph --to pprof -o kept.pb.gz",
     "a profile of what keeps what alive: heapprof view kept.pb.gz"},
    {"heapprof graph convert app.graph --to dot | dot -Tsvg > app.svg",
     "a picture of the dominator tree, by graphviz"},
    {0}
};

const struct cli_command cli_graph_convert_command = {
    .name = "graph convert",
    .arguments = "[EARLIER...] FILE --to=FORMAT [-o FILE]",
    .summary = "Write a dump in another format",
    .description =
        "Writes the live objects in the format of another program: heapsnapshot\n"
        "(of V8), heaptimeline (the same, with allocation stacks, and with the time at\n"
        "which objects came), jsonl (the lines of ObjectSpace.dump_all), dot (what the tree\n"
        "command shows, for graphviz), pprof (the tree as call stacks: the sum of a frame\n"
        "is what it retains).\n"
        "\n"
        "Viewers that compare heapsnapshots know an object by its id. Name the earlier\n"
        "dumps, too, oldest first: then an object has the same id in the files made of 1,\n"
        "of 1 2 and of 1 2 3. A heaptimeline has a bar for each of these dumps. Its height\n"
        "is the size of what was new in that dump and is still alive in the last. Its\n"
        "allocation stacks are those of objects that a running profile has sampled\n"
        "(RUBY_HEAPPROF).",
    .readers =
        "with --output only the owner of the file (mode 0600). If the shell makes a file of\n"
        "stdout (>), its umask decides.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .writes_output = true,
    .run = run,
};
