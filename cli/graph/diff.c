/* diff.c - `heapprof graph diff`: shows what has grown from dump to dump. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "graph/difference.h"
#include "report/text.h"

enum {COUNT = CLI_GRAPH_KEEPER_OWN_OPTIONS};

struct rows {
    const struct cli *cli;
    struct cli_graph graphs[GRAPH_DUMPS_MOST];
    struct graph_dump dumps[GRAPH_DUMPS_MOST];
    size_t count;                /* of dumps */
    struct graph_difference difference;
    uint32_t *changes;           /* the rows */
    size_t   change_count;
    long     limit;
};

static int64_t
grown_bytes(const struct graph_difference *difference, uint32_t change)
{
    const struct graph_change *it = &difference->all[change];

    return (int64_t)(it->retained[difference->dump_count - 1] - it->retained[0]);
}

/* With three dumps, objects that came and stayed are first. */
static int
larger_first(const void *a, const void *b, void *data)
{
    const struct graph_difference *difference = data;
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    bool kept = difference->all[one].kept > 0, other_kept = difference->all[other].kept > 0;
    int64_t bytes = grown_bytes(difference, one), others = grown_bytes(difference, other);

    if (kept != other_kept) return kept ? -1 : 1;
    return bytes != others ? (bytes < others ? 1 : -1) : (one > other) - (one < other);
}

static bool
find_rows(struct rows *rows)
{
    rows->changes = calloc(rows->difference.count, sizeof(*rows->changes));
    if (!rows->changes) return false;
    for (uint32_t i = 1; i < rows->difference.count; i++) {
        if (graph_grown_p(&rows->difference, i)) rows->changes[rows->change_count++] = i;
    }
    qsort_r(rows->changes, rows->change_count, sizeof(*rows->changes), larger_first,
            &rows->difference);
    return true;
}

/* ---- as text ---- */

static void
put_count(uint64_t number, int width)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, (double)number, "count");
    printf("%*s", width, amount);
}

static bool
put_way(FILE *out, const struct rows *rows, const struct graph_change *change)
{
    const struct cli_graph *last = &rows->graphs[rows->count - 1];
    const struct graph_sample *sample;

    fprintf(out, "%s  ", graph_class_name(&last->graph, change->example));
    if (!graph_put_way(out, &last->graph, &last->shortest, change->example, true)) return false;
    sample = graph_sample(&last->graph, change->example);
    if (!sample) return true;
    fputs("; allocated at ", out);
    cli_graph_put_site(out, &last->graph.names, sample->stack);
    return true;
}

static bool
put_row(const struct rows *rows, uint32_t number)
{
    const struct graph_change *change = &rows->difference.all[number];
    struct cli_text text;

    if (!cli_text_begin(&text) || !put_way(text.out, rows, change)) return false;
    cli_graph_put_bytes((double)grown_bytes(&rows->difference, number));
    for (size_t i = 0; i < rows->count; i++) put_count(change->objects[i], 11);
    if (!rows->difference.inexact) put_count(change->fresh, 11);
    if (!rows->difference.inexact && rows->count > 2) put_count(change->kept, 11);
    fputs("  ", stdout);
    cli_text_show(&text, 0, false);
    putchar('\n');
    return true;
}

static bool
put_text(const struct rows *rows)
{
    size_t limit = rows->limit && (size_t)rows->limit < rows->change_count ? (size_t)rows->limit : rows->change_count;

    printf("all live objects: ");
    for (size_t i = 0; i < rows->count; i++) {
        char amount[REPORT_AMOUNT_MAX];
        report_amount(amount, (double)rows->graphs[i].dominators.retained[0], "bytes");
        printf("%s%s", i ? " -> " : "", amount);
    }
    if (rows->difference.inexact) printf("\nobjects cannot be matched between these dumps: %s", rows->difference.inexact);
    printf("\n\n%10s", "growth");
    for (size_t i = 0; i < rows->count; i++) printf("%10s%zu", "objects ", i + 1);
    if (!rows->difference.inexact) printf("%11s%s", "new", rows->count > 2 ? "       kept" : "");
    puts("  what, and what keeps it");
    for (size_t i = 0; i < limit; i++) if (!put_row(rows, rows->changes[i])) return false;
    if (limit < rows->change_count) printf("... and %zu more\n", rows->change_count - limit);
    return true;
}

/* ---- as JSON ---- */

static void
put_numbers(struct report_json *json, const char *key, const uint64_t *numbers, size_t count)
{
    report_json_member_begin(json, key, '[');
    for (size_t i = 0; i < count; i++) report_json_unsigned(json, numbers[i]);
    report_json_end(json, ']');
}

static bool
json_row(struct report_json *json, const struct rows *rows, const struct graph_change *change)
{
    const struct cli_graph *last = &rows->graphs[rows->count - 1];
    const struct graph_sample *sample = graph_sample(&last->graph, change->example);

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "class", graph_class_name(&last->graph, change->example));
    if (!cli_graph_json_way(json, "way", &last->graph, &last->shortest, change->example,
                            true)) return false;
    put_numbers(json, "objects", change->objects, rows->count);
    put_numbers(json, "retained", change->retained, rows->count);
    if (!rows->difference.inexact) put_numbers(json, "new", &change->fresh, 1);
    if (!rows->difference.inexact && rows->count > 2) put_numbers(json, "kept", &change->kept, 1);
    report_json_member_begin(json, "example", '{');
    if (!cli_graph_json_object(json, last, change->example)) return false;
    report_json_end(json, '}');
    report_json_key(json, "stack");
    cli_graph_json_stack(json, &last->graph, sample ? sample->stack : 0);
    report_json_end(json, '}');
    return true;
}

static bool
put_json(const struct rows *rows)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    put_numbers(&json, "bytes", rows->difference.all[0].retained, rows->count);
    report_json_member_text(&json, "inexact", rows->difference.inexact);
    report_json_member_begin(&json, "growth", '[');
    for (size_t i = 0; i < rows->change_count; i++) {
        if (!json_row(&json, rows, &rows->difference.all[rows->changes[i]])) return false;
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
    return true;
}

/* ---- the command ---- */

/* Reads a dump, and finds the shortest paths in the last one. Returns a status. */
static int
read_dump(struct rows *rows, const char *path)
{
    size_t place = rows->count++;
    struct cli_graph *graph = &rows->graphs[place];
    bool last = rows->count == rows->cli->operand_count;
    int status = cli_graph_read(rows->cli, path, graph,
                                CLI_GRAPH_DOMINATOR_TREE | (last ? CLI_GRAPH_SHORTEST : 0));
    bool room;

    if (status != CLI_DONE) return status;
    cli_graph_warn(rows->cli, path, graph);
    rows->dumps[place].graph = &graph->graph;
    cli_doing("merging paths");
    room = graph_patterns_make(&rows->dumps[place].patterns, &graph->graph, &graph->dominator_tree);
    cli_doing(NULL);
    return room ? CLI_DONE : cli_wrong(rows->cli, "no memory");
}

static int
show(struct rows *rows)
{
    bool room;

    cli_doing("comparing");
    room = graph_difference_make(&rows->difference, rows->dumps, rows->count) && find_rows(rows);
    cli_doing(NULL);
    room = room && (rows->cli->values[CLI_GRAPH_JSON] ? put_json : put_text)(rows);
    free(rows->changes);
    graph_difference_free(&rows->difference);
    return room ? cli_finish(rows->cli) : cli_wrong(rows->cli, "no memory");
}

static int
run(struct cli *cli)
{
    struct rows rows = {.cli = cli};
    int status = CLI_DONE;

    if (!cli_number(cli, COUNT, 0, 20, &rows.limit)) return CLI_USAGE;
    for (size_t i = 0; status == CLI_DONE && i < cli->operand_count; i++) status = read_dump(&rows, cli->operands[i]);
    if (status == CLI_DONE) status = show(&rows);
    while (rows.count-- > 0) {
        if (rows.dumps[rows.count].patterns.space) graph_patterns_free(&rows.dumps[rows.count].patterns);
        cli_graph_free(&rows.graphs[rows.count]);
    }
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {"--count", 'n', "N", NULL, "How many rows; 0: all (default: 20)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph diff 1.graph 2.graph", "what has grown, and what keeps it alive"},
    {"heapprof graph diff 1.graph 2.graph 3.graph",
     "what came after the first dump and is still there in the third: a leak"},
    {0}
};

const struct cli_command cli_graph_diff_command = {
    .name = "graph diff", .arguments = "OLD NEW [NEWER] [-n N]",
    .summary = "What has grown from dump to dump, and what keeps it alive",
    .description =
        "Compares the live objects of two or three dumps. A row is for the objects of one\n"
        "class at one place in the dominator tree, if the last dump has more of them than\n"
        "the first. What they keep alive is counted with them.\n"
        "\n"
        "growth is in bytes that they retain. new counts the objects that the dump before\n"
        "does not have. With three dumps, kept counts the objects that the second dump has\n"
        "and the first does not: the garbage collector had its chance to free them.\n"
        "\n"
        "If dumps of one process follow one another, objects can be matched, even if an\n"
        "address was used again. After a compaction between them, and for other dumps, only\n"
        "numbers are compared.",
    .options = options, .examples = examples, .least = 2, .most = 3, .run = run,
};
