/* tree.c - `heapprof graph tree`: shows the merged dominator tree. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/graph/graph.h"
#include "graph/patterns.h"
#include "report/text.h"

struct nodes {
    const struct cli_graph *graph;
    const struct graph_patterns *patterns;
    struct graph_branches branches;
    struct report_json json;
    uint64_t least;              /* bytes; what retains less is not shown */
    long     depth;
    bool     as_json;
};

static bool
put_text(struct nodes *nodes, uint32_t number, long depth)
{
    const struct graph_pattern *pattern = &nodes->patterns->all[number];
    char amount[REPORT_AMOUNT_MAX];
    struct cli_text text;

    if (!cli_text_begin(&text)) return false;
    graph_put_step(text.out, &nodes->graph->graph, nodes->patterns, number);
    cli_graph_put_bytes((double)nodes->branches.retained[number]);
    cli_graph_put_share((double)nodes->branches.retained[number],
                        (double)nodes->branches.retained[0]);
    report_amount(amount, (double)pattern->objects, "count");
    printf("  %12s  %*s", amount, (int)(2 * depth), "");
    cli_text_show(&text, 0, false);
    putchar('\n');
    return true;
}

static bool
begin_json(struct nodes *nodes, uint32_t number)
{
    const struct graph_pattern *pattern = &nodes->patterns->all[number];
    struct cli_text text;

    if (!cli_text_begin(&text)) return false;
    report_json_line(&nodes->json);
    report_json_begin(&nodes->json, '{');
    graph_put_step(text.out, &nodes->graph->graph, nodes->patterns, number);
    report_json_key(&nodes->json, "name");
    cli_text_json(&text, &nodes->json);
    report_json_member_unsigned(&nodes->json, "objects", pattern->objects);
    report_json_member_unsigned(&nodes->json, "bytes", pattern->bytes);
    report_json_member_unsigned(&nodes->json, "retained", nodes->branches.retained[number]);
    report_json_member_begin(&nodes->json, "children", '[');
    return true;
}

/* Writes the patterns below a pattern. Recurses no deeper than --depth. */
static bool
put_children(struct nodes *nodes, uint32_t number, long depth)
{
    bool room = true;

    for (uint32_t i = nodes->branches.first[number];
         room && depth < nodes->depth && i < nodes->branches.first[number + 1]; i++) {
        uint32_t child = nodes->branches.children[i];
        if (nodes->branches.retained[child] < nodes->least) break;
        room = nodes->as_json ? begin_json(nodes, child) : put_text(nodes, child, depth);
        room = room && put_children(nodes, child, depth + 1);
        if (!nodes->as_json) continue;
        report_json_end(&nodes->json, ']');
        report_json_end(&nodes->json, '}');
    }
    return room;
}

static bool
show(struct nodes *nodes)
{
    bool room = graph_branches_make(&nodes->branches, nodes->patterns);

    if (room) {
        if (nodes->as_json) report_json_begin(&nodes->json, '[');
        else printf("%10s  %6s  %12s  label and class\n", "retained", "share", "objects");
        room = put_children(nodes, 0, 0);
        if (nodes->as_json) {
            report_json_end(&nodes->json, ']');
            putchar('\n');
        }
    }
    graph_branches_free(&nodes->branches);
    return room;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    struct graph_patterns patterns;
    struct nodes nodes = {.graph = &graph, .patterns = &patterns, .json = {.out = stdout},
                          .as_json = cli->values[CLI_JSON]};
    long least;
    int status;

    if (!cli_number(cli, CLI_DEPTH, 1, 16, &nodes.depth) ||
        !cli_number(cli, CLI_LEAST, 0, 1, &least)) return CLI_USAGE;
    if (nodes.depth > 1000)
        return cli_usage(cli, "--depth=%s: give at most 1000", cli->values[CLI_DEPTH]);
    status = cli_graph_read(cli, cli->operands[0], &graph,
                            CLI_GRAPH_DOMINATOR_TREE | cli_graph_exactly(cli));
    if (status == CLI_DONE) {
        bool room;
        cli_doing("merging paths");
        nodes.least = graph.dominators.retained[0] / 100 * (uint64_t)least;
        room = graph_patterns_make(&patterns, &graph.graph, &graph.dominator_tree) &&
               graph_patterns_gather(&patterns, &graph.graph, nodes.least);
        cli_doing(NULL);
        cli_graph_warn(cli, cli->operands[0], &graph);
        room = room && show(&nodes);
        graph_patterns_free(&patterns);
        status = room ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {CLI_DEPTH, NULL, "How many levels (default: 16)"},
    {CLI_LEAST, NULL, "Leave out what retains less than this part of the live memory (default: 1)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph tree app.graph", "what keeps what, from the roots down"},
    {"heapprof graph tree app.graph --least=10", "only what keeps a tenth or more"},
    {0}
};

const struct cli_command cli_graph_tree_command = {
    .name = "graph tree", .arguments = "FILE [--depth=N] [--least=PERCENT]",
    .summary = "What keeps what alive in a dump, from the roots down",
    .description =
        "Each line has a label and a class. The label is the name of the reference, such as\n"
        "@items. The line above keeps it alive: without that, it would be free (it is the\n"
        "dominator). (several ways) means that it is referred to from different places, and\n"
        "none of them alone keeps it alive. Objects of one class that the same label leads\n"
        "to are one line. Indices and keys make no difference, and a list is one line.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
