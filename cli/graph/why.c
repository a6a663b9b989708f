/* why.c - `heapprof graph why`: shows what keeps an object, or the objects of a class, alive.
 *
 * For an object: the shortest path; then the shortest path that shares no object with the first
 * except those on every path; and so on. For a class: the shortest path to each of its objects,
 * merged. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/graph/graph.h"
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

static void
put_step(const struct graph *graph, const struct cli_graph *all,
         const struct graph_tree *tree, uint32_t object)
{
    struct cli_text text;
    unsigned columns;

    if (!cli_text_begin(&text)) return;
    graph_put_label(text.out, graph, tree->labels[object], false);
    fputs("  ", stdout);
    cli_graph_put_bytes((double)all->dominators.retained[object]);
    fputs("  ", stdout);
    columns = cli_text_show(&text, 30, false);
    printf("%*s", columns < 32 ? (int)(32 - columns) : 2, "");
    cli_graph_put_object(graph, object, cli_width() > 80 ? cli_width() - 48 : 0);
    putchar('\n');
}

/* Collects the objects from the root to the object. The tree leads upwards, so they are put on
 * a stack first. */
static bool
put_steps(const struct question *question, const struct graph_tree *tree, uint32_t object)
{
    uint32_t count = 0, *steps;

    for (uint32_t at = object; at; at = tree->from[at]) count++;
    steps = malloc(count * sizeof(*steps));
    if (!steps) return false;
    for (uint32_t at = object, i = count; i > 0; at = tree->from[at]) steps[--i] = at;
    for (uint32_t i = 0; i < count; i++) {
        if (count > STEPS_MOST && i == STEPS_MOST / 2) {
            printf("  %10s  ... %"PRIu32" steps\n", "", count - STEPS_MOST);
            i = count - STEPS_MOST / 2;
        }
        put_step(&question->graph->graph, question->graph, tree, steps[i]);
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

/* The search for all paths to one object. The dominators of the object are on each of them: they
 * form its chain.
 *
 *     root --> A --> B --> object      A and B are the chain; the depths are 1, 2, 3, 4
 *               `-> x -^               B has two entries: from A, and from x, which B does not keep
 */
#define ROOT_DEPTH 1

struct ways {
    struct graph_closed closed;
    uint32_t *depths;            /* by object: its own on the chain, otherwise that of the nearest
                                    object of the chain that keeps it; 0: not known yet */
    uint32_t *entries;           /* by object of the chain: open references to it from objects
                                    that it does not keep */
    uint8_t  *chain;             /* by object: on the chain */
};

static void
note_chain(struct ways *ways, const uint32_t *dominators, uint32_t object)
{
    uint32_t depth = ROOT_DEPTH;

    for (uint32_t at = object; at; at = dominators[at]) depth++;
    for (uint32_t at = object; at; at = dominators[at]) {
        ways->chain[at] = 1;
        ways->depths[at] = depth--;
    }
}

/* The objects on the way up get the depth, too, so that no later walk goes there again. */
static uint32_t
depth_of(struct ways *ways, const uint32_t *dominators, uint32_t object)
{
    uint32_t top = object, depth;

    while (top && !ways->depths[top]) top = dominators[top];
    depth = top ? ways->depths[top] : ROOT_DEPTH;
    for (uint32_t at = object; at != top; at = dominators[at]) ways->depths[at] = depth;
    return depth;
}

static void
count_entry(struct ways *ways, const struct cli_graph *graph, uint32_t from, uint32_t to, uint32_t label)
{
    const uint32_t *dominators = graph->dominators.dominators;

    if (!ways->chain[to] || (from && dominators[from] == GRAPH_UNREACHED) ||
        graph_weaker_p(&graph->graph, &graph->dominators.levels, from, to, label)) return;
    if (!from || depth_of(ways, dominators, from) < ways->depths[to]) ways->entries[to]++;
}

static void
count_entries(struct ways *ways, const struct cli_graph *graph)
{
    const struct graph *it = &graph->graph;

    for (uint32_t i = 0; i < it->root_count; i++) {
        count_entry(ways, graph, 0, it->roots[i].target, graph_root_label(&it->roots[i]));
    }
    for (uint32_t from = 1; from <= it->count; from++) {
        for (uint32_t i = it->first[from]; i < it->first[from + 1]; i++) {
            count_entry(ways, graph, from, it->targets[i], it->labels[i]);
        }
        if (graph_class(it, from)) {
            count_entry(ways, graph, from, graph_class(it, from), graph_label(HEAPPROF_DUMP_CLASS, 0));
        }
    }
}

/* Closes the objects of a path except the chain, and the references between objects of the chain
 * that are not the only entry. What is above the class at which the path begins stays open: other
 * ways to a class are no news. Sets any if something was closed. Returns false if there is no
 * memory. */
static bool
close_way(struct ways *ways, const struct graph *graph, const struct graph_tree *tree, uint32_t object, bool *any)
{
    struct graph_closed *closed = &ways->closed;
    uint32_t start = graph_way_start(graph, tree, object);

    *any = false;
    for (uint32_t at = object; at != start; at = tree->from[at]) {
        uint32_t from = tree->from[at];
        bool direct = ways->chain[at] && (from == start || ways->chain[from]);
        if (!ways->chain[at]) closed->objects[at] = 1;
        else if (ways->entries[at] < 2) continue;
        else ways->entries[at]--;
        *any = true;
        if (!direct) continue;
        if (!HEAPPROF_ARRAY_GROW(closed->references, closed->reference_capacity, closed->reference_count + 1)) return false;
        closed->references[closed->reference_count++] =
            (struct graph_closed_reference){from, at, tree->labels[at]};
    }
    graph_closed_sort(closed);
    return true;
}

static bool
put_open_ways(struct question *question, struct ways *ways, uint32_t object)
{
    bool room = true, more = true;

    note_chain(ways, question->graph->dominators.dominators, object);
    count_entries(ways, question->graph);
    for (int number = 1; room && more && number <= WAYS_MOST; number++) {
        struct graph_tree tree;
        room = graph_shortest(&tree, &question->graph->graph, &ways->closed);
        more = room && tree.from[object] != GRAPH_UNREACHED;
        if (more) room = put_way(question, &tree, object, number) && close_way(ways, &question->graph->graph, &tree, object, &more);
        graph_tree_free(&tree);
    }
    return room;
}

static bool
put_ways(struct question *question, uint32_t object)
{
    size_t count = (size_t)question->graph->graph.count + 1;
    struct ways ways = {.closed = {.levels = &question->graph->dominators.levels,
                                   .objects = calloc(count, 1)},
                        .depths = calloc(count, sizeof(*ways.depths)),
                        .entries = calloc(count, sizeof(*ways.entries)), .chain = calloc(count, 1)};
    bool room = ways.closed.objects && ways.depths && ways.entries && ways.chain &&
                put_open_ways(question, &ways, object);

    free(ways.closed.objects);
    free(ways.closed.references);
    free(ways.depths);
    free(ways.entries);
    free(ways.chain);
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
    size_t limit = question->limit && (size_t)question->limit < count ? (size_t)question->limit : count;

    if (question->as_json) report_json_begin(&question->json, '[');
    else printf("%12s  %10s  %-14s  alive by\n", "objects", "bytes", "one of them");
    for (size_t i = 0; i < limit; i++) if (!put_row(question, &rows[i])) return false;
    if (question->as_json) {
        report_json_end(&question->json, ']');
        putchar('\n');
    }
    else if (limit < count) printf("... and %zu ways more\n", count - limit);
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

    cli_doing("finding the shortest ways");
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
    return cli_wrong(question->cli, "%s: it has no live object with the address or class %s",
                     cli_name(question->cli->operands[0]), class_name);
}

/* ---- the command ---- */

static int
show(struct question *question)
{
    const char *what = question->cli->operands[1];
    uint32_t object = cli_graph_object(&question->graph->graph, what);
    int status = CLI_DONE;

    if (object) status = show_object(question, object) ? CLI_DONE : cli_wrong(question->cli, "no memory");
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
    status = cli_graph_read(cli, cli->operands[0], &graph, cli_graph_exactly(cli) | cli_graph_keys(cli));
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
        "For a class: the shortest path from a root to each of its objects. Paths that\n"
        "differ only in indices and keys are one row; a list is one step.\n"
        "\n"
        "For the object at an address: the shortest path from a root, reference by\n"
        "reference, with what each object on it keeps alive. Then up to four more paths\n"
        "that share nothing with it except what is on every path. To free the object, each\n"
        "of them must be cut.",
    .options = options, .examples = examples, .least = 2, .most = 2, .run = run,
};
