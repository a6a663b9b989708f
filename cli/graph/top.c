/* top.c - `heapprof graph top`: adds objects up and shows the largest groups. */
#include <inttypes.h>
#include <string.h>

#include "cli/graph/graph.h"

static const char *const ages[] = {"no GC survived", "1 GC survived", "2 GCs survived",
                                   "old (3 GCs or more)"};

static enum graph_grouping
grouping(const struct cli *cli)
{
    const char *group = cli->values[CLI_GROUP] ? cli->values[CLI_GROUP] : "class";

    if (!strcmp(group, "stack")) return GRAPH_BY_STACK;
    if (!strcmp(group, "file")) return GRAPH_BY_FILE;
    return strcmp(group, "age") ? GRAPH_BY_CLASS : GRAPH_BY_AGE;
}

static void
put_name(FILE *out, const struct graph *graph, enum graph_grouping by, uint32_t key)
{
    const struct graph_names *names = &graph->names;

    if (by == GRAPH_BY_CLASS) fputs(graph_string(names, names->classes[key].name), out);
    else if (by == GRAPH_BY_AGE) fputs(ages[key], out);
    else if (key == 0) fputs("(not sampled)", out);
    else if (by == GRAPH_BY_FILE) fputs(graph_string(names, key), out);
    else {
        uint32_t site = graph_site(names, key);
        cli_graph_put_frame(out, names, key);
        if (site != key) fputs(" called at ", out);
        if (site != key) cli_graph_put_frame(out, names, site);
    }
}

struct top_rows {
    const struct cli_graph *graph;
    const struct graph_groups *groups;
    enum graph_grouping by;
    uint32_t limit;
};

static bool
show_name(const struct top_rows *rows, uint32_t key)
{
    const struct graph_names *names = &rows->graph->graph.names;
    unsigned width = cli_width() > 70 ? cli_width() - 58 : 0;
    struct cli_text text;

    if (rows->by == GRAPH_BY_CLASS) {
        cli_graph_put_class(graph_string(names, names->classes[key].name), width);
        return true;
    }
    if (!cli_text_begin(&text)) return false;
    put_name(text.out, &rows->graph->graph, rows->by, key);
    cli_text_show(&text, width, false);
    return true;
}

static bool
put_text(const struct top_rows *rows)
{
    double whole = (double)rows->graph->dominators.retained[0];

    cli_graph_put_head();
    for (uint32_t i = 0; i < rows->limit; i++) {
        const struct graph_group *group = &rows->groups->all[i];
        cli_graph_put_group(group, whole);
        if (!show_name(rows, group->key)) return false;
        putchar('\n');
    }
    if (rows->limit < rows->groups->count) cli_graph_put_left(rows->groups->count - rows->limit);
    return true;
}

static bool
put_json(const struct top_rows *rows)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '[');
    for (uint32_t i = 0; i < rows->limit; i++) {
        const struct graph_group *group = &rows->groups->all[i];
        struct cli_text text;
        if (!cli_text_begin(&text)) return false;
        report_json_line(&json);
        report_json_begin(&json, '{');
        report_json_key(&json, "name");
        put_name(text.out, &rows->graph->graph, rows->by, group->key);
        cli_text_json(&text, &json);
        report_json_member_number(&json, "bytes", group->bytes);
        report_json_member_number(&json, "retained", group->retained);
        report_json_member_number(&json, "objects", group->objects);
        if (rows->by == GRAPH_BY_STACK) {
            report_json_key(&json, "stack");
            cli_graph_json_stack(&json, &rows->graph->graph, group->key);
        }
        report_json_end(&json, '}');
    }
    report_json_end(&json, ']');
    putchar('\n');
    return true;
}

static bool
show(const struct cli *cli, struct cli_graph *graph, long limit)
{
    struct graph_groups groups;
    struct top_rows rows = {.graph = graph, .groups = &groups, .by = grouping(cli)};
    bool room;

    cli_doing("adding up groups");
    room = graph_groups_make(&groups, &graph->graph, &graph->dominators, rows.by);
    cli_doing(NULL);
    if (room) {
        graph_groups_sort(&groups, cli->values[CLI_RETAINED]);
        rows.limit = limit && (unsigned long)limit < groups.count ? (uint32_t)limit : groups.count;
        room = (cli->values[CLI_JSON] ? put_json : put_text)(&rows);
    }
    graph_groups_free(&groups);
    return room;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    long limit;
    int status;

    if (!cli_number(cli, CLI_COUNT, 0, 20, &limit)) return CLI_USAGE;
    status = cli_graph_read(cli, cli->operands[0], &graph, cli_graph_exactly(cli));
    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = show(cli, &graph, limit) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {CLI_GROUP, "class stack file age", "What a row stands for (default: class)"},
    {CLI_RETAINED, NULL, "Order by retained bytes"},
    {CLI_COUNT, NULL, "How many rows; 0: all (default: 20)"},
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof graph top app.graph", "the classes of the live objects" },
    { "heapprof graph top app.graph --retained",
      "which classes keep most alive, with all that only they lead to" },
    { "heapprof graph top app.graph --group stack",
      "where they were allocated, if the profiler was on" },
    { 0 }
};

const struct cli_command cli_graph_top_command = {
    .name = "graph top", .arguments = "FILE [--group=GROUP] [--retained] [-n N]",
    .summary = "What a dump has most of: by class, allocation stack, file, age",
    .description =
        "Adds up the live objects. bytes are their own, in the slot and outside it.\n"
        "retained is what would be free without them: also all objects that only they lead\n"
        "to. If one object of a row keeps another one of the same row alive, the other\n"
        "counts once. The retained bytes of different rows overlap.\n"
        "\n"
        "By stack and file, a sampled object counts as the objects it stands for: the\n"
        "numbers are estimates.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
