/* repeats.c - shows who holds content that exists many times, or which line allocates it. */
#include "cli/graph/repeats.h"

#include <inttypes.h>

#include "report/text.h"

struct repeats_view {
    const struct cli_graph *graph;
    const struct graph_repeats *repeats;
    enum graph_repeats_by by;
    uint32_t limit;
};

static bool
put_name(FILE *out, const struct repeats_view *view, const struct graph_repeat *row)
{
    const struct graph *graph = &view->graph->graph;
    const struct graph_pattern *pattern;

    if (view->by == GRAPH_REPEATS_BY_LINE) {
        if (row->key) cli_graph_put_frame(out, &graph->names, row->key);
        else fputs("(not sampled)", out);
        return true;
    }
    if (!row->key) {
        fputs("(garbage)", out);
        return true;
    }
    pattern = &view->repeats->patterns.all[row->key];
    return graph_put_way(out, graph, &view->graph->shortest, pattern->example,
                         pattern->objects > 1);
}

void
cli_graph_put_repeated(const struct graph_duplicates *duplicates)
{
    uint64_t objects = duplicates->objects - duplicates->count;

    cli_graph_put_objects(stdout, objects);
    fputs(objects == 1 ? " repeats" : " repeat", stdout);
    fputs(" the content of another one: ", stdout);
    cli_graph_put_amount(stdout, (double)graph_all_wasted(duplicates), "bytes");
    fputs("\n\n", stdout);
}

static bool
put_text(const struct repeats_view *view)
{
    const struct graph *graph = &view->graph->graph;

    cli_graph_put_repeated(&view->repeats->duplicates);
    printf("%10s  %12s  %-14s  %s\n", "wasted", "objects", "one of them",
           view->by == GRAPH_REPEATS_BY_LINE ? "allocated at" : "class, and what holds them");
    for (uint32_t i = 0; i < view->limit; i++) {
        const struct graph_repeat *row = &view->repeats->all[i];
        struct cli_text text;
        char amount[REPORT_AMOUNT_MAX];
        if (!cli_text_begin(&text)) return false;
        cli_graph_put_bytes(row->wasted);
        report_amount(amount, row->objects, "count");
        printf("  %12s  %#-14"PRIx64"  ", amount, graph_address(graph, row->example));
        if (view->by == GRAPH_REPEATS_BY_HOLDER) {
            fprintf(text.out, "%s  by ", graph_class_name(graph, row->example));
        }
        if (!put_name(text.out, view, row)) return false;
        cli_text_show(&text, 0, false);
        putchar('\n');
    }
    if (view->limit < view->repeats->count) cli_graph_put_left(view->repeats->count - view->limit);
    return true;
}

static bool
put_json(const struct repeats_view *view)
{
    const struct graph_duplicates *duplicates = &view->repeats->duplicates;
    const struct graph *graph = &view->graph->graph;
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_unsigned(&json, "objects", duplicates->objects - duplicates->count);
    report_json_member_unsigned(&json, "wasted", graph_all_wasted(duplicates));
    report_json_member_begin(&json, "groups", '[');
    for (uint32_t i = 0; i < view->limit; i++) {
        const struct graph_repeat *row = &view->repeats->all[i];
        struct cli_text text;
        report_json_line(&json);
        report_json_begin(&json, '{');
        report_json_member_unsigned(&json, "wasted", (uint64_t)(row->wasted + 0.5));
        report_json_member_number(&json, "objects", row->objects);
        cli_graph_json_address(&json, "example", graph_address(graph, row->example));
        if (view->by == GRAPH_REPEATS_BY_HOLDER) {
            report_json_member_text(&json, "class", graph_class_name(graph, row->example));
        }
        report_json_key(&json, view->by == GRAPH_REPEATS_BY_LINE ? "line" : "holder");
        if (!cli_text_begin(&text)) return false;
        if (!put_name(text.out, view, row)) return false;
        cli_text_json(&text, &json);
        report_json_end(&json, '}');
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
    return true;
}

static bool
show(const struct cli *cli, struct cli_graph *graph, size_t limit_bytes, enum graph_repeats_by by,
     long rows)
{
    struct graph_repeats repeats;
    struct repeats_view view = {.graph = graph, .repeats = &repeats, .by = by};
    bool room;

    cli_doing("adding up duplicates");
    room = graph_repeats_make(&repeats, &graph->graph, &graph->shortest, limit_bytes, by);
    cli_doing(NULL);
    view.limit = rows && (unsigned long)rows < repeats.count ? (uint32_t)rows : repeats.count;
    if (room) room = (cli->values[CLI_JSON] ? put_json : put_text)(&view);
    graph_repeats_free(&repeats);
    return room;
}

int
cli_graph_repeats(const struct cli *cli, enum graph_repeats_by by, long rows)
{
    struct cli_graph graph;
    size_t limit_bytes;
    int status =
        cli_graph_read(cli, cli->operands[0], &graph, CLI_GRAPH_HASHES | CLI_GRAPH_SHORTEST);

    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = cli_graph_limit(cli, &limit_bytes) && show(cli, &graph, limit_bytes, by, rows)
                     ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    cli_graph_free(&graph);
    return status;
}
