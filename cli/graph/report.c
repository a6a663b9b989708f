/* report.c - `heapprof graph report`: the most important facts in words, on one screen. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "report/text.h"

#define CLASSES_MOST 8
#define SUSPECTS_MOST 1000

struct page {
    const struct cli_graph *graph;
    struct cli_graph_suspects suspects;
    struct graph_stuck stuck;
    struct graph_groups classes;
};

/* ---- the page ---- */

/* " (2026-11-22 22:10:03 +0000, pid 42, app.rb, ruby 3.4.9)" */
static void
put_process(const struct graph *graph)
{
    static const char *const facts[] = {"pid", "program", "ruby"};
    char time[CLI_GRAPH_TIME_MAX];
    const char *between = " (";

    cli_graph_time(time, graph);
    if (time[0]) {
        printf(" (%s", time);
        between = ", ";
    }
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        const char *fact = graph_fact(&graph->names, facts[i]);
        if (!fact) continue;
        printf("%s%s", between, i == 0 ? "pid " : "");
        report_put(stdout, fact, 60, false);
        between = ", ";
    }
    puts(between[0] == ',' ? ")" : "");
}

static void
put_head(const struct cli *cli, const struct cli_graph *graph)
{
    const struct graph *it = &graph->graph;
    uint64_t garbage = it->count - graph->dominators.reached;

    report_put(stdout, cli_name(cli->operands[0]), 0, false);
    fputs(": ", stdout);
    cli_graph_put_objects(stdout, graph->dominators.reached);
    fputs(" alive, ", stdout);
    cli_graph_put_amount(stdout, (double)graph->dominators.retained[0], "bytes");
    put_process(it);
    if (it->bytes == graph->dominators.retained[0]) return;
    fputs("besides ", stdout);
    cli_graph_put_amount(stdout, (double)(it->bytes - graph->dominators.retained[0]), "bytes");
    fputs(" in ", stdout);
    cli_graph_put_objects(stdout, garbage);
    printf(" that nothing leads to: the garbage collector will free %s\n",
           garbage == 1 ? "it" : "them");
}

static bool
put_suspects(const struct page *page)
{
    const struct cli_graph_suspects *suspects = &page->suspects;
    char least[REPORT_AMOUNT_MAX];

    report_amount(least, (double)suspects->least, "bytes");
    if (suspects->count) puts("\nSuspects");
    else printf("\nNothing but the program itself keeps %s or more.\n", least);
    for (size_t i = 0; i < suspects->count; i++) {
        struct cli_text text;
        if (!cli_text_begin(&text) || !cli_graph_put_suspect(text.out, page->graph, suspects, i))
            return false;
        printf("%zu. ", i + 1);
        cli_text_show(&text, 0, false);
        putchar('\n');
    }
    return true;
}

static void
put_stuck(const struct cli *cli, const struct page *page)
{
    if (page->stuck.threads + page->stuck.fibers == 0) return;
    putchar('\n');
    cli_graph_put_stuck(stdout, &page->stuck);
    fputs(": heapprof graph stuck ", stdout);
    report_put(stdout, cli_name(cli->operands[0]), 0, false);
    putchar('\n');
}

static void
put_classes(const struct page *page)
{
    const struct cli_graph *graph = page->graph;
    double whole = (double)graph->dominators.retained[0];

    puts("\nLargest classes");
    cli_graph_put_head();
    for (uint32_t i = 0; i < page->classes.count && i < CLASSES_MOST; i++) {
        const struct graph_group *group = &page->classes.all[i];
        cli_graph_put_group(group, whole);
        cli_graph_put_class(
            graph_string(&graph->graph.names, graph->graph.names.classes[group->key].name),
            cli_width() > 70 ? cli_width() - 58 : 0);
        putchar('\n');
    }
}

static bool
put_json(const struct page *page)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_unsigned(&json, "objects", page->graph->dominators.reached);
    report_json_member_unsigned(&json, "bytes", page->graph->dominators.retained[0]);
    report_json_member_begin(&json, "suspects", '[');
    for (size_t i = 0; i < page->suspects.count; i++) {
        if (!cli_graph_json_suspect(&json, page->graph, &page->suspects, i)) return false;
    }
    report_json_end(&json, ']');
    report_json_member_begin(&json, "stuck", '{');
    cli_graph_json_stuck(&json, &page->stuck);
    report_json_end(&json, '}');
    report_json_end(&json, '}');
    putchar('\n');
    return true;
}

static bool
show_text(const struct cli *cli, struct cli_graph *graph, struct page *page)
{
    bool room;

    cli_doing("adding up classes");
    room = graph_groups_make(&page->classes, &graph->graph, &graph->dominators, GRAPH_BY_CLASS);
    cli_doing(NULL);
    if (room) {
        graph_groups_sort(&page->classes, false);
        put_head(cli, graph);
        room = put_suspects(page);
        put_stuck(cli, page);
        put_classes(page);
    }
    graph_groups_free(&page->classes);
    return room;
}

static bool
show(const struct cli *cli, struct cli_graph *graph, long least, long most)
{
    struct page page = {.graph = graph};
    bool room;

    cli_doing("looking for suspects");
    room = (!graph->graph.complete || graph_stuck_find(&page.stuck, &graph->graph)) &&
           cli_graph_suspects_find(&page.suspects, graph, (size_t)most, least);
    cli_doing(NULL);
    if (room && cli->values[CLI_JSON]) room = put_json(&page);
    else if (room) room = show_text(cli, graph, &page);
    cli_graph_suspects_free(&page.suspects);
    if (page.stuck.waiters.space) graph_stuck_free(&page.stuck);
    return room;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    long least, most;
    int status;

    if (!cli_number(cli, CLI_LEAST, 0, -1, &least) ||
        !cli_number(cli, CLI_COUNT, 1, CLI_GRAPH_SUSPECTS_MOST, &most)) return CLI_USAGE;
    if (most > SUSPECTS_MOST)
        return cli_usage(cli, "--count=%s: give at most %d", cli->values[CLI_COUNT], SUSPECTS_MOST);
    status = cli_graph_read(cli, cli->operands[0], &graph,
                            CLI_GRAPH_SHORTEST | CLI_GRAPH_DOMINATOR_TREE | CLI_GRAPH_LENGTHS |
                                cli_graph_exactly(cli) | cli_graph_keys(cli));
    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = show(cli, &graph, least, most) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    { CLI_LEAST, NULL,
      "What part of the live memory a suspect keeps at least (default: 5, and 1 MB)" },
    { CLI_COUNT, NULL, "How many suspects (default: 5)" },
    CLI_GRAPH_KEYS_OPTION,
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof graph report app.graph",
      "what keeps most memory, what keeps that alive, where it was allocated" },
    { 0 }
};

const struct cli_command cli_graph_report_command = {
    .name = "graph report", .arguments = "FILE [--least=PERCENT] [-n N]",
    .summary = "What keeps most of a dump's memory, in words",
    .description =
        "Names each suspect: an object, or objects side by side, without which at least 5%\n"
        "of the live memory would be free, and no less than 1 MB. For each it says in which\n"
        "object the memory is gathered, the strongest path from a root that keeps it alive,\n"
        "and where it was allocated, if the profiler was on.\n"
        "\n"
        "Classes, threads and code keep much by their nature; what they refer to is named\n"
        "instead. They are suspects if they have become many: threads that were started at\n"
        "one place, methods or constants with names that a program made. The VM is never one.\n"
        "\n"
        "If threads or fibers wait for what nobody can give them any more, a line says how many,\n"
        "and what they keep; heapprof graph stuck tells more.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
