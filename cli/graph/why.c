/* why.c - `heapprof graph why`: shows what keeps an object, or the objects of a class, alive.
 *
 * For an object: the strongest path; then the strongest one that shares no object with the first
 * except those on every path; and so on (ways.c). For a class: the strongest path to each of its
 * objects, merged. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph/ways.h"
#include "graph/patterns.h"
#include "report/text.h"

#define WAYS_MOST 5
#define STEPS_MOST 40 /* of a way that are shown, half of them from its end */

struct question {
    const struct cli *cli;
    struct cli_graph *graph;
    struct report_json json;
    bool   as_json;
    long   limit;
};

/* ---- an object ---- */

/* The class at which a path begins has no label: how it is reached is no news. */
static void
put_step(const struct graph *graph, const struct cli_graph *all,
         const struct graph_tree *tree, uint32_t object, bool labelled)
{
    struct cli_text text;
    unsigned columns;

    if (!cli_text_begin(&text)) return;
    if (labelled) graph_put_label(text.out, graph, tree->labels[object], false);
    fputs("  ", stdout);
    cli_graph_put_bytes((double)all->dominators.retained[object]);
    fputs("  ", stdout);
    columns = cli_text_show(&text, 30, false);
    printf("%*s", columns < 32 ? (int)(32 - columns) : 2, "");
    cli_graph_put_object(graph, object, cli_width() > 80 ? cli_width() - 48 : 0);
    putchar('\n');
}

/* Collects the objects from the root, or from a named class, to the object. The tree leads upwards,
 * so they are put on a stack first. */
static bool
put_steps(const struct question *question, const struct graph_tree *tree, uint32_t object)
{
    uint32_t start = graph_way_start(&question->graph->graph, tree, object);
    uint32_t end = start ? tree->from[start] : 0, count = 0, *steps;

    for (uint32_t at = object; at != end; at = tree->from[at]) count++;
    steps = malloc(count * sizeof(*steps));
    if (!steps) return false;
    for (uint32_t at = object, i = count; i > 0; at = tree->from[at]) steps[--i] = at;
    for (uint32_t i = 0; i < count; i++) {
        if (count > STEPS_MOST && i == STEPS_MOST / 2) {
            printf("  %10s  ... %"PRIu32" more steps\n", "", count - STEPS_MOST);
            i = count - STEPS_MOST / 2;
        }
        put_step(&question->graph->graph, question->graph, tree, steps[i], steps[i] != start);
    }
    free(steps);
    return true;
}

static bool
put_way(struct question *question, const struct graph_tree *tree, uint32_t object, int number)
{
    struct cli_text text;

    if (question->as_json) {
        report_json_line(&question->json);
        report_json_begin(&question->json, '{');
        if (!cli_graph_json_way(&question->json, "way", &question->graph->graph, tree, object,
                                false)) return false;
        report_json_end(&question->json, '}');
        return true;
    }
    if (!cli_text_begin(&text) ||
        !graph_put_way(text.out, &question->graph->graph, tree, object, false)) return false;
    printf("\n%d. ", number);
    cli_text_show(&text, 0, false);
    putchar('\n');
    return put_steps(question, tree, object);
}

static bool
put_ways(struct question *question, uint32_t object)
{
    struct cli_graph *graph = question->graph;
    struct cli_graph_ways ways;
    bool room = cli_graph_ways_begin(&ways, graph, object), more = room;

    for (int number = 1; room && more && number <= WAYS_MOST; number++) {
        struct graph_tree tree;
        room = graph_shortest(&tree, &graph->graph, &ways.closed);
        more = room && tree.from[object] != GRAPH_UNREACHED;
        if (more)
            room = put_way(question, &tree, object, number) &&
                   cli_graph_ways_close(&ways, &tree, &more);
        graph_tree_free(&tree);
    }
    cli_graph_ways_end(&ways);
    return room;
}

static bool
show_object(struct question *question, uint32_t object)
{
    const struct cli_graph *graph = question->graph;
    bool reached = graph->dominators.dominators[object] != GRAPH_UNREACHED;
    char amount[REPORT_AMOUNT_MAX];

    if (question->as_json) {
        report_json_begin(&question->json, '{');
        if (!cli_graph_json_object(&question->json, graph, object)) return false;
        report_json_member_begin(&question->json, "ways", '[');
        if (reached && !put_ways(question, object)) return false;
        report_json_end(&question->json, ']');
        report_json_end(&question->json, '}');
        putchar('\n');
        return true;
    }
    printf("%#"PRIx64" ", graph_address(&graph->graph, object));
    cli_graph_put_object(&graph->graph, object, 0);
    report_amount(amount, (double)graph->dominators.retained[object], "bytes");
    if (reached) printf(" keeps %s\n", amount);
    else puts(" is kept alive by nothing");
    return !reached || put_ways(question, object);
}

/* ---- a class ---- */

struct row {
    uint32_t pattern, example;
    uint64_t objects, bytes;
};

static int
more_objects(const void *a, const void *b)
{
    const struct row *one = a, *other = b;

    if (one->objects != other->objects) return one->objects < other->objects ? 1 : -1;
    return (one->pattern > other->pattern) - (one->pattern < other->pattern);
}

/* Makes a row for each pattern with objects of the class. */
static size_t
gather(struct row *rows, const struct cli_graph *graph, const struct graph_patterns *patterns,
       const char *class_name)
{
    size_t count = 0;

    for (uint32_t object = 1; object <= graph->graph.count; object++) {
        uint32_t pattern = patterns->of[object];
        if (!pattern || strcmp(graph_class_name(&graph->graph, object), class_name)) continue;
        if (!rows[pattern].objects++) rows[pattern].example = object;
        rows[pattern].pattern = pattern;
        rows[pattern].bytes += graph->graph.sizes[object];
    }
    for (uint32_t i = 0; i < patterns->count; i++) if (rows[i].objects) rows[count++] = rows[i];
    if (count) qsort(rows, count, sizeof(*rows), more_objects);
    return count;
}

static bool
put_row(struct question *question, const struct row *row)
{
    const struct graph *graph = &question->graph->graph;
    const struct graph_tree *tree = &question->graph->shortest;
    struct report_json *json = &question->json;
    char amount[REPORT_AMOUNT_MAX];
    struct cli_text text;

    if (question->as_json) {
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_unsigned(json, "objects", row->objects);
        report_json_member_unsigned(json, "bytes", row->bytes);
        if (!cli_graph_json_way(json, "way", graph, tree, row->example,
                                row->objects > 1)) return false;
        report_json_member_begin(json, "example", '{');
        if (!cli_graph_json_object(json, question->graph, row->example)) return false;
        report_json_end(json, '}');
        report_json_end(json, '}');
        return true;
    }
    if (!cli_text_begin(&text) ||
        !graph_put_way(text.out, graph, tree, row->example, row->objects > 1)) return false;
    report_amount(amount, (double)row->objects, "count");
    printf("%12s  ", amount);
    cli_graph_put_bytes((double)row->bytes);
    printf("  %#"PRIx64"  ", graph_address(graph, row->example));
    cli_text_show(&text, 0, false);
    putchar('\n');
    return true;
}

static bool
put_rows(struct question *question, const struct row *rows, size_t count)
{
    size_t limit =
        question->limit && (size_t)question->limit < count ? (size_t)question->limit : count;

    if (question->as_json) report_json_begin(&question->json, '[');
    else printf("%12s  %10s  %-14s  kept alive by\n", "objects", "bytes", "one of them");
    for (size_t i = 0; i < limit; i++) if (!put_row(question, &rows[i])) return false;
    if (question->as_json) {
        report_json_end(&question->json, ']');
        putchar('\n');
    }
    else if (limit < count) cli_graph_put_left(count - limit);
    return true;
}

static int
show_class(struct question *question, const char *class_name)
{
    struct cli_graph *graph = question->graph;
    struct graph_patterns patterns = {0};
    struct row *rows = NULL;
    size_t count = 0;
    bool room;

    cli_doing("finding the strongest paths");
    room = graph_shortest(&graph->shortest, &graph->graph, NULL) &&
           graph_patterns_make(&patterns, &graph->graph, &graph->shortest);
    cli_doing(NULL);
    if (room) rows = calloc(patterns.count, sizeof(*rows));
    if (rows) count = gather(rows, graph, &patterns, class_name);
    room = rows && (count == 0 || put_rows(question, rows, count));
    free(rows);
    if (patterns.space) graph_patterns_free(&patterns);
    if (!room) return cli_wrong(question->cli, "no memory");
    if (count) return CLI_DONE;
    return cli_wrong(question->cli, "%s: no live object has the address or class %s;"
                     " `heapprof graph top` shows the classes",
                     cli_name(question->cli->operands[0]), class_name);
}

/* ---- the command ---- */

static int
show(struct question *question)
{
    const char *what = question->cli->operands[1];
    uint32_t object = cli_graph_object(&question->graph->graph, what);
    int status = CLI_DONE;

    if (object)
        status = show_object(question, object) ? CLI_DONE : cli_wrong(question->cli, "no memory");
    else status = show_class(question, what);
    return status == CLI_DONE ? cli_finish(question->cli) : status;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    struct question question = {.cli = cli, .graph = &graph, .json = {.out = stdout},
                                .as_json = cli->values[CLI_JSON]};
    int status;

    if (!cli_number(cli, CLI_COUNT, 0, 10, &question.limit)) return CLI_USAGE;
    status =
        cli_graph_read(cli, cli->operands[0], &graph, cli_graph_exactly(cli) | cli_graph_keys(cli));
    if (status == CLI_DONE) {
        cli_graph_warn(cli, cli->operands[0], &graph);
        status = show(&question);
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {CLI_COUNT, NULL, "How many paths for a class; 0: all (default: 10)"},
    CLI_GRAPH_KEYS_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph why app.graph Order", "which paths keep the Orders alive, and how many each"},
    {"heapprof graph why app.graph 0x7f3a5c0210a8",
     "which references lead from a root to this object"},
    {0}
};

const struct cli_command cli_graph_why_command = {
    .name = "graph why", .arguments = "FILE ADDRESS|CLASS [-n N]",
    .summary = "What keeps an object, or the objects of a class, alive",
    .description =
        "For a class: the strongest path from a root to each of its objects. Paths that\n"
        "differ only in indices and keys are one row; a list is one step.\n"
        "\n"
        "For the object at an address: the strongest path from a root, reference by\n"
        "reference, with what each object on it keeps alive. Then up to four more paths\n"
        "that share nothing with it except what is on every path. To free the object, each\n"
        "of them must be cut.\n"
        "\n"
        "The strongest path is the one that says most about why an object is alive. Paths\n"
        "from constants, global variables and variables of classes come first; then those\n"
        "from C code and the VM, from threads, from local variables of methods at work; then\n"
        "values on a stack; at last caches. Of equally strong paths it is the shortest.",
    .options = options, .examples = examples, .least = 2, .most = 2, .run = run,
};
