/* info.c - `heapprof graph info`: shows what a dump says about itself. */
#include <inttypes.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "report/text.h"

struct figure {
    const char *name;
    uint64_t number;
    bool     bytes;
};

#define FIGURES 9

/* Counts what was read; the dump's own numbers say what was written. */
static void
count(const struct cli_graph *graph, struct figure figures[FIGURES])
{
    const struct graph *it = &graph->graph;
    const struct figure all[FIGURES] = {
        {"objects", it->count, false},
        {"bytes", it->bytes, true},
        {"reached_objects", graph->dominators.reached, false},
        {"reached_bytes", graph->dominators.retained[0], true},
        {"roots", it->root_count, false},
        {"references", it->first[it->count + 1], false},
        {"weak_references", it->weak, false},
        {"missing_objects_referred_to", it->missing, false},
        {"sampled_objects", it->sample_count, false},
    };

    for (int i = 0; i < FIGURES; i++) figures[i] = all[i];
}

static bool
says_version_p(const struct graph_names *names)
{
    for (uint32_t i = 0; i < names->fact_count; i++) {
        if (!strcmp(names->text + names->facts[i].key, "heapprof")) return true;
    }
    return false;
}

static void
put_text(const struct cli *cli, const struct cli_graph *graph, const struct figure figures[FIGURES])
{
    const struct graph_names *names = &graph->graph.names;
    char time[CLI_GRAPH_TIME_MAX];

    printf("%-28s", "file");
    report_put(stdout, cli_name(cli->operands[0]), 0, false);
    putchar('\n');
    for (int i = 0; i < FIGURES; i++) {
        char amount[REPORT_AMOUNT_MAX];
        report_amount(amount, (double)figures[i].number, figures[i].bytes ? "bytes" : "count");
        printf("%-28s%s\n", figures[i].name, amount);
    }
    if (!says_version_p(names))
        printf("%-28s%s\n", "heapprof", "a version before 1.0.0: the file does not say which");
    cli_graph_time(time, &graph->graph);
    if (time[0]) printf("%-28s%s\n", "taken", time);
    for (uint32_t i = 0; i < names->fact_count; i++) {
        unsigned columns = report_put(stdout, names->text + names->facts[i].key, 0, false);
        printf("%*s", columns < 27 ? (int)(28 - columns) : 1, "");
        report_put(stdout, names->text + names->facts[i].value, 0, false);
        putchar('\n');
    }
}

static void
put_json(const struct cli *cli, const struct cli_graph *graph, const struct figure figures[FIGURES])
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_text(&json, "file", cli_name(cli->operands[0]));
    report_json_member_bool(&json, "complete", graph->graph.complete);
    for (int i = 0; i < FIGURES; i++) {
        report_json_member_unsigned(&json, figures[i].name, figures[i].number);
    }
    cli_graph_json_facts(&json, &graph->graph.names, "process", false);
    cli_graph_json_facts(&json, &graph->graph.names, "footer", true);
    report_json_end(&json, '}');
    putchar('\n');
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    struct figure figures[FIGURES];
    int status = cli_graph_read(cli, cli->operands[0], &graph, 0);

    if (status == CLI_DONE) {
        count(&graph, figures);
        if (cli->values[CLI_JSON]) put_json(cli, &graph, figures);
        else {
            cli_graph_warn(cli, cli->operands[0], &graph);
            put_text(cli, &graph, figures);
        }
        status = cli_finish(cli);
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {CLI_GRAPH_OPTIONS, {0}};

static const struct cli_example examples[] = {
    {"heapprof graph info app.graph", "which process it is from, and how much is in it"},
    {0}
};

const struct cli_command cli_graph_info_command = {
    .name = "graph info", .arguments = "FILE [--json]",
    .summary = "What a dump of objects says about itself",
    .description =
        "Shows which process a dump is from, and how much is in it.\n"
        "ObjectSpace::HeapGraph.dump writes such files. reached_objects and reached_bytes\n"
        "are what is alive: roots lead to it. The garbage collector has not freed the rest\n"
        "yet.\n"
        "\n"
        "The lines from taken on are those that the dump itself contains.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
