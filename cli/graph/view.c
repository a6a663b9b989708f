/* view.c - `heapprof graph view`: writes a dump, or what changed from dump to dump, as a page for
 * a browser. */
#include <stdlib.h>

#include "cli/graph/page.h"
#include "cli/html.h"

#define OBJECTS_MOST 10000

static bool
put(FILE *out, void *data)
{
    bool room;

    cli_doing("making the page");
    room = cli_graph_page_write(out, data);
    cli_doing(NULL);
    return room;
}

/* Makes the page of the dump in page->graph, which is the last operand's. Returns a status. */
static int
show(const struct cli *cli, struct cli_graph_page *page)
{
    const struct graph_names *names = &page->graph->graph.names;
    const char *path = cli->operands[cli->operand_count - 1], *time = graph_fact(names, "time");
    struct cli_sources sources = {.time_ns = time ? strtoll(time, NULL, 10) : 0};
    int status;

    page->name = cli_html_name(path);
    if (cli->values[CLI_NO_SOURCES])
        return cli_html_show(cli, put, page, cli->values[CLI_OUTPUT], cli->values[CLI_OPEN]);
    if (!cli_source_roots_find(&sources.roots, cli, cli->values[CLI_SOURCES], path,
                               graph_fact(names, "directory"))) return CLI_USAGE;
    page->sources = &sources;
    status = cli_html_show(cli, put, page, cli->values[CLI_OUTPUT], cli->values[CLI_OPEN]);
    if (status == CLI_DONE) cli_sources_say(&sources, "heapprof graph view");
    cli_sources_free(&sources);
    return status;
}

static int
show_one(const struct cli *cli, struct cli_graph_page *page)
{
    struct cli_graph graph;
    int status = cli_graph_read(cli, cli->operands[0], &graph,
                                CLI_GRAPH_SHORTEST | CLI_GRAPH_DOMINATOR_TREE | CLI_GRAPH_LENGTHS |
                                cli_graph_exactly(cli));

    if (status == CLI_DONE) {
        page->graph = &graph;
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = show(cli, page);
    }
    cli_graph_free(&graph);
    return status;
}

static int
show_difference(const struct cli *cli, struct cli_graph_page *page)
{
    struct cli_graph_diff diff;
    int status = cli_graph_diff_read(&diff, cli, CLI_GRAPH_LENGTHS | cli_graph_exactly(cli));

    if (status == CLI_DONE) {
        page->diff = &diff;
        page->graph = &diff.graphs[diff.count - 1];
        status = show(cli, page);
    }
    cli_graph_diff_free(&diff);
    return status;
}

static int
run(struct cli *cli)
{
    struct cli_graph_page page = {0};
    long count;

    if (!cli_html_there(cli)) return CLI_WRONG;
    if (!cli_number(cli, CLI_COUNT, 1, 500, &count)) return CLI_USAGE;
    if (count > OBJECTS_MOST)
        return cli_usage(cli, "--count=%s: give at most %d", cli->values[CLI_COUNT], OBJECTS_MOST);
    page.objects_most = (uint32_t)count;
    return cli->operand_count > 1 ? show_difference(cli, &page) : show_one(cli, &page);
}

static const struct cli_option options[] = {
    CLI_HTML_OUTPUT_OPTION,
    CLI_GRAPH_MEMORY_OPTION,
    CLI_GRAPH_EXACT_OPTION,
    {CLI_COUNT, NULL,
     "How many of the largest objects, and how many first objects of paths, are in it with their "
     "references (default: 500)"},
    {CLI_SOURCES, NULL, "Read source below that directory (default: where the dump is)"},
    {CLI_NO_SOURCES, NULL, "Leave out the lines of source where objects were allocated"},
    CLI_HTML_OPEN_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof graph view app.graph", "what keeps what alive, in the browser" },
    { "heapprof graph view app.graph -o app.html", "as a file" },
    { "heapprof graph view 1.graph 2.graph",
      "what has grown, what holds it, and where that is in the heap" },
    { "heapprof graph view app.graph --sources=.",
      "with lines of source, of a program whose code is here" },
    { 0 }
};

const struct cli_command cli_graph_view_command = {
    .name = "graph view",
    .arguments = "[options] FILE [NEWER...]",
    .summary = "A page with suspects, what keeps what, classes and objects; or what has grown",
    .description =
        "Writes one HTML page that needs no network, and prints its name. The page has:\n"
        "what may be a leak, in words; the tree of `heapprof graph tree` as a picture (a\n"
        "flame graph or a treemap) with search and zoom; what each class has and retains;\n"
        "and for each of the objects that retain most: what keeps it alive, its references\n"
        "in both directions, what it keeps alive, and where it was allocated, with the lines\n"
        "of source, if they are found. A query such as `Hash with bytes > 1M` selects among\n"
        "these objects. The page says what it leaves out, and what its words mean.\n"
        "\n"
        "With several dumps of one process, in any order, it is the page of the last one,\n"
        "and begins with the rows of `heapprof graph diff`. Each row leads to an example of\n"
        "what is new and to what holds it. The picture is coloured by growth.\n"
        "\n"
        "A dump may come from anybody, and may name any file. So source is read only where\n"
        "`heapprof view` reads it, see there: below the directory that the dump is in, or\n"
        "below --sources=DIR, in this ruby's library, and in this user's gems.",
    .readers = "the owner of the page alone (mode 0600). It names classes, methods and files, and "
               "has lines of source\n"
               "unless --no-sources is given: read it before you pass it on.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = GRAPH_DUMPS_MOST,
    .writes_output = true,
    .run = run,
};
