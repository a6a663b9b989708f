/* suspects.c - describes what may be a leak, for `graph report` and `graph view`. */
#include "cli/graph/graph.h"
#include "report/text.h"

#define LEAST_SHARE 20  /* a suspect keeps at least this fraction of what is alive: 1/20 */

size_t
cli_graph_suspects(struct graph_suspect suspects[CLI_GRAPH_SUSPECTS_MOST], struct cli_graph *graph)
{
    return graph_suspects(suspects, CLI_GRAPH_SUSPECTS_MOST, &graph->graph, &graph->dominators,
                          graph->dominators.retained[0] / LEAST_SHARE + 1);
}

static void
put_kept(FILE *out, const struct cli_graph *graph, uint64_t retained)
{
    char share[REPORT_AMOUNT_MAX];

    report_share(share, (double)retained, (double)graph->dominators.retained[0]);
    cli_graph_put_amount(out, (double)retained, "bytes");
    fprintf(out, " (%s)", share);
}

/* ", gathered in one Hash of 200,000 Order" */
static void
put_gathered(FILE *out, const struct graph *graph, const struct graph_suspect *suspect)
{
    const char *part = suspect->part ? graph_class_name(graph, suspect->part) : NULL;

    if (suspect->list) {
        fputs(", gathered in a list of ", out);
        cli_graph_put_amount(out, suspect->parts, "count");
        fprintf(out, " %s", part);
        return;
    }
    fprintf(out, ", gathered in one %s", graph_class_name(graph, suspect->gathered));
    if (!part) return;
    fputs(" of ", out);
    cli_graph_put_amount(out, suspect->parts, "count");
    fprintf(out, " %s", part);
}

bool
cli_graph_put_suspect(FILE *out, const struct cli_graph *graph, const struct graph_suspect *suspect)
{
    const struct graph *it = &graph->graph;
    const struct graph_tree *shortest = &graph->shortest;
    bool room = true;

    if (suspect->count > 1) {
        cli_graph_put_amount(out, suspect->count, "count");
        fprintf(out, " %s beside each other keep ", graph_class_name(it, suspect->object));
        put_kept(out, graph, suspect->retained);
    }
    else {
        fputc('`', out);
        room = graph_put_start(out, it, shortest, suspect->object);
        fputs("` keeps ", out);
        put_kept(out, graph, suspect->retained);
        put_gathered(out, it, suspect);
    }
    fputs("; alive by ", out);
    room = graph_put_way(out, it, shortest, suspect->gathered, suspect->count > 1) && room;
    if (suspect->stack) {
        fputs("; allocated at ", out);
        cli_graph_put_site(out, &it->names, suspect->stack);
    }
    return room;
}

bool
cli_graph_json_suspect(struct report_json *json, const struct cli_graph *graph,
                       const struct graph_suspect *suspect)
{
    struct cli_text text;

    report_json_line(json);
    report_json_begin(json, '{');
    if (!cli_text_begin(&text) || !cli_graph_put_suspect(text.out, graph, suspect)) return false;
    report_json_key(json, "text");
    cli_text_json(&text, json);
    report_json_member_unsigned(json, "retained", suspect->retained);
    report_json_member_unsigned(json, "count", suspect->count);
    report_json_member_begin(json, "object", '{');
    if (!cli_graph_json_object(json, graph, suspect->object)) return false;
    report_json_end(json, '}');
    report_json_member_begin(json, "gathered", '{');
    if (!cli_graph_json_object(json, graph, suspect->gathered)) return false;
    report_json_end(json, '}');
    if (!cli_graph_json_way(json, "way", &graph->graph, &graph->shortest, suspect->gathered,
                            suspect->count > 1)) return false;
    report_json_key(json, "stack");
    cli_graph_json_stack(json, &graph->graph, suspect->stack);
    report_json_end(json, '}');
    return true;
}
