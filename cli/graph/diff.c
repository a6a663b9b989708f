/* diff.c - `heapprof graph diff`: shows what has grown from dump to dump, and what holds it. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph/diff.h"
#include "cli/graph/order.h"
#include "report/text.h"

/* ---- the rows ---- */

static int
compare_signed(int64_t one, int64_t other)
{
    return (one < other) - (one > other);
}

/* What grew each time is first, and what shrank is last. */
static int
larger_first(const void *a, const void *b, void *data)
{
    const struct graph_difference *difference = data;
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    bool each = graph_growth_each_time_p(difference, one),
         other_each = graph_growth_each_time_p(difference, other);
    int order;

    if (each != other_each) return each ? -1 : 1;
    order =
        compare_signed(graph_growth_bytes(difference, one), graph_growth_bytes(difference, other));
    return order ? order : (one > other) - (one < other);
}

static bool
find_rows(struct cli_graph_diff *diff)
{
    const struct graph_difference *difference = &diff->difference;
    int64_t least = difference->least;

    diff->rows = calloc((size_t)difference->count + 1, sizeof(*diff->rows));
    if (!diff->rows) return false;
    for (uint32_t i = 0; i < difference->count; i++) {
        int64_t bytes = graph_growth_bytes(difference, i);
        diff->growth += bytes;
        if (bytes < least && bytes > -least) continue;
        diff->rows[diff->row_count++] = i;
        diff->told += bytes;
    }
    qsort_r(diff->rows, diff->row_count, sizeof(*diff->rows), larger_first, (void *)difference);
    return true;
}

/* A sample of what the holder refers to comes before one of what belongs to that. */
static bool
find_stacks(struct cli_graph_diff *diff)
{
    const struct graph_difference *difference = &diff->difference;
    const struct graph *last = &diff->graphs[diff->count - 1].graph;

    diff->stacks = calloc((size_t)difference->count + 1, sizeof(*diff->stacks));
    for (int held = 1; diff->stacks && held >= 0; held--) {
        for (uint32_t i = 0; i < last->sample_count; i++) {
            uint32_t object = last->samples[i].object, row = difference->rows[object], fresh;
            if (!row || difference->survived[object] || diff->stacks[row - 1]) continue;
            fresh = difference->all[row - 1].fresh;
            if (held &&
                (!fresh || graph_class_number(last, fresh) != graph_class_number(last, object)))
                continue;
            diff->stacks[row - 1] = last->samples[i].stack;
        }
    }
    return diff->stacks;
}

/* ---- as text ---- */

static void
put_signed(int64_t bytes)
{
    char amount[REPORT_AMOUNT_MAX], text[REPORT_AMOUNT_MAX + 1];

    report_amount(amount, (double)(bytes < 0 ? -bytes : bytes), "bytes");
    snprintf(text, sizeof(text), "%s%s", bytes < 0 ? "-" : "", amount);
    printf("%11s", text);
}

static bool
put_row(const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph_growth *row = &diff->difference.all[number];
    struct cli_text text;
    char amount[REPORT_AMOUNT_MAX];

    if (!cli_text_begin(&text) || !cli_graph_diff_put(text.out, diff, number)) return false;
    put_signed(graph_growth_bytes(&diff->difference, number));
    for (size_t i = 1; diff->count > 2 && i < diff->count; i++)
        put_signed((int64_t)(row->bytes[i] - row->bytes[i - 1]));
    report_amount(amount, (double)row->new_bytes, "bytes");
    printf("%11s", amount);
    report_amount(amount, (double)row->freed_bytes, "bytes");
    printf("%11s", amount);
    put_signed(row->grown);
    fputs("  ", stdout);
    cli_text_show(&text, 0, false);
    putchar('\n');
    return true;
}

static void
put_alive(const struct cli_graph_diff *diff)
{
    char amount[REPORT_AMOUNT_MAX];

    fputs("all live objects: ", stdout);
    for (size_t i = 0; i < diff->count; i++) {
        report_amount(amount, (double)diff->difference.alive[i], "bytes");
        printf("%s%s", i ? " -> " : "", amount);
    }
    report_amount(amount, (double)(diff->growth < 0 ? -diff->growth : diff->growth), "bytes");
    printf(diff->growth < 0 ? ": %s less\n" : ": growth %s\n", amount);
    if (!diff->difference.inexact) return;
    printf("Objects are paired by their places, not by identity: %s.\n", diff->difference.inexact);
}

static void
put_head(const struct cli_graph_diff *diff)
{
    printf("\n%11s", "growth");
    for (size_t i = 1; diff->count > 2 && i < diff->count; i++) printf("%6zu to %zu", i, i + 1);
    printf("%11s%11s%11s  what holds it, and what is new\n", "new", "freed", "in place");
}

bool
cli_graph_diff_text(const struct cli_graph_diff *diff, long limit)
{
    size_t shown = limit && (size_t)limit < diff->row_count ? (size_t)limit : diff->row_count;
    int64_t rest = diff->growth;

    put_alive(diff);
    if (shown) put_head(diff);
    for (size_t i = 0; i < shown; i++) {
        if (!put_row(diff, diff->rows[i])) return false;
        rest -= graph_growth_bytes(&diff->difference, diff->rows[i]);
    }
    if (!shown) puts("Nothing grew or shrank by more than a thousandth.");
    put_signed(rest);
    printf("%*s  the rest", diff->count > 2 ? (int)(11 * (diff->count + 2)) : 33, "");
    if (shown < diff->row_count) {
        char rows[REPORT_COUNT_MAX];
        report_count(rows, diff->row_count - shown, "more row", "more rows");
        printf(": %s, and smaller changes", rows);
    }
    putchar('\n');
    return true;
}

/* ---- as JSON ---- */

static void
put_flow(struct report_json *json, const char *key, uint64_t objects, uint64_t bytes)
{
    report_json_member_begin(json, key, '{');
    report_json_member_unsigned(json, "objects", objects);
    report_json_member_unsigned(json, "bytes", bytes);
    report_json_end(json, '}');
}

static bool
json_object(struct report_json *json, const char *key, const struct cli_graph *graph,
            uint32_t object)
{
    bool room;

    report_json_member_begin(json, key, '{');
    room = cli_graph_json_object(json, graph, object);
    report_json_end(json, '}');
    return room;
}

static bool
json_objects(struct report_json *json, const struct cli_graph_diff *diff, uint32_t number)
{
    const struct cli_graph *last = &diff->graphs[diff->count - 1];
    struct cli_graph_diff_shown shown = cli_graph_diff_shown(diff, number);
    bool many = diff->difference.all[number].new_objects > 1;

    if (shown.way &&
        !cli_graph_json_way(json, "way", &last->graph, &last->shortest, shown.way, many))
        return false;
    if (shown.holder && !json_object(json, "holder", last, shown.holder)) return false;
    if (shown.example && !json_object(json, "example", last, shown.example)) return false;
    report_json_key(json, "stack");
    cli_graph_json_stack(json, &last->graph, diff->stacks[number]);
    return true;
}

static bool
json_row(struct report_json *json, const struct cli_graph_diff *diff, uint32_t number)
{
    const struct graph_growth *row = &diff->difference.all[number];
    struct cli_text text;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_integer(json, "growth", graph_growth_bytes(&diff->difference, number));
    report_json_member_begin(json, "by_step", '[');
    for (size_t i = 1; i < diff->count; i++)
        report_json_integer(json, (int64_t)(row->bytes[i] - row->bytes[i - 1]));
    report_json_end(json, ']');
    put_flow(json, "new", row->new_objects, row->new_bytes);
    put_flow(json, "freed", row->freed_objects, row->freed_bytes);
    report_json_member_integer(json, "grown", row->grown);
    if (!cli_text_begin(&text) || !cli_graph_diff_put(text.out, diff, number)) return false;
    report_json_key(json, "what");
    cli_text_json(&text, json);
    if (!json_objects(json, diff, number)) return false;
    report_json_end(json, '}');
    return true;
}

bool
cli_graph_diff_json(struct report_json *json, const struct cli_graph_diff *diff)
{
    report_json_member_begin(json, "bytes", '[');
    for (size_t i = 0; i < diff->count; i++) report_json_unsigned(json, diff->difference.alive[i]);
    report_json_end(json, ']');
    report_json_member_integer(json, "growth", diff->growth);
    report_json_member_text(json, "inexact", diff->difference.inexact);
    report_json_member_begin(json, "rows", '[');
    for (size_t i = 0; i < diff->row_count; i++)
        if (!json_row(json, diff, diff->rows[i])) return false;
    report_json_end(json, ']');
    report_json_member_integer(json, "rest", diff->growth - diff->told);
    return true;
}

/* ---- reading ---- */

/* Reads a dump, and finds the strongest paths in the last one. Returns a status. */
static int
read_dump(struct cli_graph_diff *diff, const char *path)
{
    size_t place = diff->count++;
    struct cli_graph *graph = &diff->graphs[place];
    bool last = diff->count == diff->cli->operand_count;
    int status = cli_graph_read(diff->cli, path, graph, diff->wanted | CLI_GRAPH_DOMINATOR_TREE |
                                                            (last ? CLI_GRAPH_SHORTEST : 0));

    if (status != CLI_DONE) return status;
    cli_graph_warn(diff->cli, path, graph);
    diff->dumps[place] =
        (struct graph_dump){ &graph->graph, &graph->dominators, &graph->dominator_tree };
    return CLI_DONE;
}

int
cli_graph_diff_read(struct cli_graph_diff *diff, const struct cli *cli, int wanted)
{
    int status = CLI_DONE;
    bool room;

    *diff = (struct cli_graph_diff){.cli = cli, .wanted = wanted};
    cli_graph_order(cli);
    for (size_t i = 0; status == CLI_DONE && i < cli->operand_count; i++)
        status = read_dump(diff, cli->operands[i]);
    if (status != CLI_DONE) return status;
    cli_doing("comparing");
    diff->compared = true;
    rb_heapprof_mem_init(&diff->arrivals.mem, SIZE_MAX);
    room = graph_difference_make(&diff->difference, diff->dumps, diff->count);
    room = room && find_rows(diff) && find_stacks(diff) &&
           graph_arrivals_make(&diff->arrivals, &diff->difference,
                               &diff->graphs[diff->count - 1].graph);
    cli_doing(NULL);
    return room ? CLI_DONE : cli_wrong(cli, "no memory");
}

void
cli_graph_diff_free(struct cli_graph_diff *diff)
{
    free(diff->rows);
    free(diff->stacks);
    if (diff->compared) {
        graph_arrivals_free(&diff->arrivals);
        graph_difference_free(&diff->difference);
    }
    while (diff->count-- > 0) cli_graph_free(&diff->graphs[diff->count]);
}

/* ---- the command ---- */

static bool
show(const struct cli *cli, const struct cli_graph_diff *diff, long limit)
{
    struct report_json json = {.out = stdout};
    bool room;

    if (cli->values[CLI_GROUP]) return cli_graph_histograms(diff, cli->values[CLI_JSON], limit);
    if (!cli->values[CLI_JSON]) return cli_graph_diff_text(diff, limit);
    report_json_begin(&json, '{');
    room = cli_graph_diff_json(&json, diff);
    report_json_end(&json, '}');
    putchar('\n');
    return room;
}

static int
run(struct cli *cli)
{
    struct cli_graph_diff diff;
    long limit;
    int status;

    if (!cli_number(cli, CLI_COUNT, 0, 20, &limit)) return CLI_USAGE;
    status = cli_graph_diff_read(&diff, cli, cli_graph_exactly(cli));
    if (status == CLI_DONE)
        status = show(cli, &diff, limit) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    cli_graph_diff_free(&diff);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {CLI_GROUP, "class", "All classes side by side, instead of what holds the growth"},
    {CLI_COUNT, NULL, "How many rows; 0: all (default: 20)"},
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof graph diff 1.graph 2.graph", "what has grown, and what holds it" },
    { "heapprof graph diff 1.graph 2.graph 3.graph", "what grew each time comes first: a leak" },
    { "heapprof graph diff 1.graph 2.graph --group class",
      "how many objects of each class came and went" },
    { 0 }
};

const struct cli_command cli_graph_diff_command = {
    .name = "graph diff", .arguments = "OLD NEW [NEWER...] [-n N]",
    .summary = "What has grown from dump to dump, and what holds it",
    .description =
        "Compares the live objects of up to eight dumps of one process, which are put in the\n"
        "order in which it has written them. Each row has a holder: an object that lived\n"
        "through all dumps, a thread, or a part of the program, such as the methods of a\n"
        "class. growth is how many bytes it holds more than before: new is what came, freed\n"
        "is what went, and in place is what became larger, such as a String that is appended\n"
        "to (negative: smaller). The rows add up to the growth of the whole heap; the last\n"
        "line has the rest of them. With three or more dumps, what grew each time comes\n"
        "first.\n"
        "\n"
        "Several holders means that no one of them alone keeps it alive. Places are names of\n"
        "one kind that hold little each: they have one row together. Behind the colon is what\n"
        "is new, by class: first what the holder refers to, then what belongs to that, the\n"
        "most bytes first.\n"
        "\n"
        "The dumps say which object is which, also if it has moved or if its address was\n"
        "used again. Objects of dumps that do not follow one another, or of two processes,\n"
        "are paired by their places instead; a line says so.",
    .options = options, .examples = examples, .least = 2, .most = GRAPH_DUMPS_MOST, .run = run,
};
