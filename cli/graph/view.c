/* view.c - `heapprof graph view`: writes a dump as a page for a browser. */
#include "cli/graph/page.h"
#include "cli/html.h"

#define OBJECTS_MOST 10000

enum {OUTPUT = 1, COUNT = CLI_GRAPH_KEEPER_OWN_OPTIONS, OPEN};

static bool
put(FILE *out, void *data)
{
    bool room;

    cli_doing("making the page");
    room = cli_graph_page_write(out, data);
    cli_doing(NULL);
    return room;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    struct cli_graph_page page = {.graph = &graph, .name = cli_html_name(cli->operands[0])};
    long count;
    int status;

    if (!cli_html_there(cli)) return CLI_WRONG;
    if (!cli_number(cli, COUNT, 1, 500, &count)) return CLI_USAGE;
    if (count > OBJECTS_MOST) return cli_usage(cli, "--count=%s: at most %d", cli->values[COUNT], OBJECTS_MOST);
    page.objects_most = (uint32_t)count;
    status = cli_graph_read(cli, cli->operands[0], &graph,
                            CLI_GRAPH_SHORTEST | CLI_GRAPH_DOMINATOR_TREE | cli_graph_exactly(cli));
    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = cli_html_show(cli, put, &page, cli->values[OUTPUT], cli->values[OPEN]);
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_HTML_OUTPUT_OPTION,
    CLI_GRAPH_MEMORY_OPTION,
    CLI_GRAPH_EXACT_OPTION,
    {"--count", 'n', "N", NULL, 
     "How many of the largest objects, and how many first objects of paths, are in it with their "
     "references (default: 500)"},
    CLI_HTML_OPEN_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph view app.graph", "what keeps what alive, in the browser"},
    {"heapprof graph view app.graph -o app.html", "as a file to pass on"},
    {0}
};

const struct cli_command cli_graph_view_command = {
    .name = "graph view", .arguments = "FILE [-o OUT.html] [-n N]",
    .summary = "A page with suspects, the dominator tree, classes and objects",
    .description =
        "Writes one HTML page that needs no network, and prints its name. The page has:\n"
        "what may be a leak, in words; the tree of `heapprof graph tree` as a picture (a\n"
        "flame graph or a treemap) with search and zoom; what each class has and retains;\n"
        "and for each of the objects that retain most: what keeps it alive, its references\n"
        "in both directions, what it keeps alive, and where it was allocated. The page says\n"
        "what it leaves out.",
    .readers =
        "the owner of the page alone (mode 0600). It names classes, methods and files.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
