/* query.c - `heapprof graph query`: lists the objects that fulfil a condition, the largest first.
 *
 * Of all objects that fulfil it, two numbers are kept: what they are sorted by, and whether an
 * object above them in the dominator tree fulfils it, too. So sums count nothing twice. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "graph/largest.h"
#include "graph/query.h"
#include "report/text.h"

#define WHAT_COLUMNS 40
#define FILL_STEPS 1000 /* of one percent, when objects are sorted by it */

struct selection {
    const struct cli *cli;
    struct cli_graph graph;
    struct graph_query query;
    enum graph_field sort;
    long      limit;
    uint64_t *values; /* by object: what it is sorted by, plus 1; 0 if it is not selected */
    uint8_t  *states;            /* by object: enum selection_state */
    uint32_t *numbers;           /* those that are shown */
    uint32_t  number_count;
    uint64_t  objects, bytes, retained;
    size_t    values_capacity, states_capacity, numbers_capacity;
};

/* SELECTED: the object or one that dominates it is selected. */
enum selection_state {UNKNOWN, SELECTED, NOT_SELECTED};

#define GROW(selection, array, count) \
    GRAPH_SPACE_GROW(&(selection)->graph.graph.space, (selection)->array, \
                     (selection)->array##_capacity, (size_t)(count))
#define RELEASE(selection, array) \
    GRAPH_SPACE_RELEASE(&(selection)->graph.graph.space, (selection)->array, \
                        (selection)->array##_capacity)

/* ---- selecting ---- */

static bool
number_of(const struct selection *selection, uint32_t object, enum graph_field field, double *value)
{
    return graph_field_number(&selection->graph.graph, &selection->graph.dominators, object, field,
                              value);
}

static void
select_object(struct selection *selection, uint32_t object)
{
    double value = 0;

    if (!number_of(selection, object, selection->sort, &value)) value = 0;
    if (selection->sort == GRAPH_FILL_FIELD) value *= FILL_STEPS;
    selection->values[object] = (uint64_t)value + 1;
    selection->states[object] = SELECTED;
    selection->objects++;
    selection->bytes += selection->graph.graph.sizes[object];
}

/* Whether something above the object is selected. All that is passed on the way up is noted, so
 * no later way goes there again. */
static bool
below_selected_p(struct selection *selection, uint32_t object)
{
    const uint32_t *dominators = selection->graph.dominators.dominators;
    uint8_t *states = selection->states, state;
    uint32_t top = dominators[object];

    while (top && !states[top]) top = dominators[top];
    state = top ? states[top] : NOT_SELECTED;
    for (uint32_t at = dominators[object]; at != top; at = dominators[at]) states[at] = state;
    return state == SELECTED;
}

static bool
choose(struct selection *selection)
{
    const struct graph_dominators *dominators = &selection->graph.dominators;
    uint32_t count = selection->graph.graph.count, most;

    if (!graph_query_bind(&selection->query, &selection->graph.graph, dominators) ||
        !GROW(selection, values, (size_t)count + 1) || !GROW(selection, states, (size_t)count + 1))
        return false;
    for (uint32_t object = 1; object <= count; object++) {
        if (dominators->dominators[object] == GRAPH_UNREACHED ||
            !graph_query_match(&selection->query, object)) continue;
        select_object(selection, object);
    }
    for (uint32_t object = 1; object <= count; object++) {
        if (!selection->values[object] || below_selected_p(selection, object)) continue;
        selection->retained += dominators->retained[object];
    }
    most = (uint32_t)selection->objects;
    if (selection->limit && (unsigned long)selection->limit < most)
        most = (uint32_t)selection->limit;
    if (most == 0) return true;
    if (!GROW(selection, numbers, 2 * (size_t)most)) return false;
    selection->number_count =
        graph_largest_find(selection->numbers, most, selection->values, count + 1);
    return true;
}

/* ---- objects as text ---- */

/* A column of a number that the object may not have. */
static void
put_number(const struct selection *selection, uint32_t object, enum graph_field field)
{
    char amount[REPORT_AMOUNT_MAX] = "";
    double value;

    if (number_of(selection, object, field, &value)) report_amount(amount, value, "count");
    printf("  %11s", amount);
}

static bool
put_row(const struct selection *selection, uint32_t object)
{
    const struct graph *graph = &selection->graph.graph;
    struct cli_text text;

    printf("%#-14"PRIx64"  ", graph_address(graph, object));
    cli_graph_put_bytes((double)graph->sizes[object]);
    fputs("  ", stdout);
    cli_graph_put_bytes((double)selection->graph.dominators.retained[object]);
    put_number(selection, object, GRAPH_LENGTH_FIELD);
    put_number(selection, object, GRAPH_CAPACITY_FIELD);
    fputs("  ", stdout);
    if (!cli_graph_put_object(graph, object, WHAT_COLUMNS) || !cli_text_begin(&text)) return false;
    fputs("  by ", stdout);
    if (!graph_put_way(text.out, graph, &selection->graph.shortest, object, false)) return false;
    cli_text_show(&text, 0, false);
    putchar('\n');
    return true;
}

static bool
put_text(const struct selection *selection)
{
    uint64_t left = selection->objects - selection->number_count;
    char amount[REPORT_AMOUNT_MAX];

    if (selection->number_count) {
        printf("%-14s  %10s  %10s  %11s  %11s  what it is, and what keeps it alive\n", "address",
               "bytes", "retained", "length", "capacity");
    }
    for (uint32_t i = 0; i < selection->number_count; i++) {
        if (!put_row(selection, selection->numbers[i])) return false;
    }
    if (left) cli_graph_put_left(left);
    cli_graph_put_objects(stdout, selection->objects);
    fputs(", ", stdout);
    report_amount(amount, (double)selection->bytes, "bytes");
    printf("%s; retained together: ", amount);
    report_amount(amount, (double)selection->retained, "bytes");
    puts(amount);
    return true;
}

/* ---- objects as JSON ---- */

static void
json_number(struct report_json *json, const struct selection *selection, uint32_t object,
            const char *key, enum graph_field field)
{
    double value;

    if (number_of(selection, object, field, &value))
        report_json_member_unsigned(json, key, (uint64_t)value);
}

static bool
json_row(struct report_json *json, const struct selection *selection, uint32_t object)
{
    const struct graph *graph = &selection->graph.graph;

    report_json_line(json);
    report_json_begin(json, '{');
    if (!cli_graph_json_object(json, &selection->graph, object)) return false;
    report_json_member_text(json, "class", graph_class_name(graph, object));
    json_number(json, selection, object, "length", GRAPH_LENGTH_FIELD);
    json_number(json, selection, object, "capacity", GRAPH_CAPACITY_FIELD);
    json_number(json, selection, object, "unused", GRAPH_UNUSED_FIELD);
    if (!cli_graph_json_way(json, "way", graph, &selection->graph.shortest, object, false))
        return false;
    report_json_end(json, '}');
    return true;
}

static bool
put_json(const struct selection *selection)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_unsigned(&json, "objects", selection->objects);
    report_json_member_unsigned(&json, "bytes", selection->bytes);
    report_json_member_unsigned(&json, "retained", selection->retained);
    report_json_member_begin(&json, "rows", '[');
    for (uint32_t i = 0; i < selection->number_count; i++) {
        if (!json_row(&json, selection, selection->numbers[i])) return false;
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
    return true;
}

/* ---- how full collections are ---- */

struct class_fill {
    uint64_t collections, length, capacity, unused;
};

/* Classes with the most unused bytes come first; then those with the most room. */
static void
put_fills(const struct selection *selection, const struct class_fill *fills,
          const uint32_t *classes, uint32_t count)
{
    const struct graph_names *names = &selection->graph.graph.names;
    struct report_json json = {.out = stdout};
    bool as_json = selection->cli->values[CLI_JSON];
    char amount[REPORT_AMOUNT_MAX];

    if (as_json) report_json_begin(&json, '[');
    else
        printf("%10s  %6s  %11s  %12s  %12s  class\n", "unused", "fill", "collections", "length",
               "capacity");
    for (uint32_t i = 0; i < count; i++) {
        const struct class_fill *fill = &fills[classes[i]];
        const char *name = graph_string(names, names->classes[classes[i]].name);
        if (as_json) {
            report_json_line(&json);
            report_json_begin(&json, '{');
            report_json_member_text(&json, "class", name);
            report_json_member_unsigned(&json, "collections", fill->collections);
            report_json_member_unsigned(&json, "length", fill->length);
            report_json_member_unsigned(&json, "capacity", fill->capacity);
            report_json_member_unsigned(&json, "unused", fill->unused);
            report_json_end(&json, '}');
            continue;
        }
        cli_graph_put_bytes((double)fill->unused);
        cli_graph_put_share((double)fill->length, (double)fill->capacity);
        report_amount(amount, (double)fill->collections, "count");
        printf("  %11s", amount);
        report_amount(amount, (double)fill->length, "count");
        printf("  %12s", amount);
        report_amount(amount, (double)fill->capacity, "count");
        printf("  %12s  ", amount);
        report_put(stdout, name, 0, false);
        putchar('\n');
    }
    if (!as_json) return;
    report_json_end(&json, ']');
    putchar('\n');
}

static void
add_fill(struct class_fill *fill, const struct selection *selection, uint32_t object)
{
    double length, capacity, unused;

    if (!selection->values[object] ||
        !number_of(selection, object, GRAPH_CAPACITY_FIELD, &capacity) ||
        !number_of(selection, object, GRAPH_LENGTH_FIELD, &length) ||
        !number_of(selection, object, GRAPH_UNUSED_FIELD, &unused))
        return;
    fill->collections++;
    fill->length += (uint64_t)length;
    fill->capacity += (uint64_t)capacity;
    fill->unused += (uint64_t)unused;
}

static bool
show_fill(const struct selection *selection)
{
    const struct graph *graph = &selection->graph.graph;
    uint32_t count = graph->names.class_count, most = count;
    struct class_fill *fills = calloc((size_t)count + 1, sizeof(*fills));
    uint64_t *values = calloc((size_t)count + 1, sizeof(*values));
    uint32_t *classes = calloc(2 * ((size_t)count + 1), sizeof(*classes));
    bool room = fills && values && classes;

    if (selection->limit && (uint64_t)selection->limit < most) most = (uint32_t)selection->limit;
    for (uint32_t object = 1; room && object <= graph->count; object++) {
        add_fill(&fills[graph_class_number(graph, object)], selection, object);
    }
    for (uint32_t i = 0; room && i < count; i++) {
        if (fills[i].collections) values[i] = fills[i].unused + 1;
    }
    if (room && most) most = graph_largest_find(classes, most, values, count);
    if (room) put_fills(selection, fills, classes, most);
    free(fills);
    free(values);
    free(classes);
    return room;
}

/* ---- the command ---- */

static int
select_and_show(struct selection *selection)
{
    const struct cli *cli = selection->cli;
    bool room;

    cli_doing("asking each object");
    room = choose(selection);
    cli_doing(NULL);
    if (room && cli->values[CLI_FILL]) room = show_fill(selection);
    else if (room) room = cli->values[CLI_JSON] ? put_json(selection) : put_text(selection);
    RELEASE(selection, values);
    RELEASE(selection, states);
    RELEASE(selection, numbers);
    return room ? cli_finish(cli) : cli_wrong(cli, "no memory");
}

static int
run(struct cli *cli)
{
    struct selection selection = {.cli = cli, .sort = GRAPH_RETAINED_FIELD};
    const char *path = cli->operands[0],
               *expression = cli->operand_count > 1 ? cli->operands[1] : "";
    int trees =
        CLI_GRAPH_SHORTEST | CLI_GRAPH_LENGTHS | cli_graph_exactly(cli) | cli_graph_keys(cli);
    int status = CLI_USAGE;
    char error[GRAPH_QUERY_ERROR_MAX];

    if (cli->values[CLI_SORT])
        selection.sort = graph_field_find(cli->values[CLI_SORT], strlen(cli->values[CLI_SORT]));
    if (!cli_number(cli, CLI_COUNT, 0, 20, &selection.limit)) return CLI_USAGE;
    if (graph_query_parse(&selection.query, expression, error)) {
        status = cli_graph_read(cli, path, &selection.graph, trees);
        if (status == CLI_DONE) {
            cli_graph_warn(cli, path, &selection.graph);
            status = select_and_show(&selection);
        }
        cli_graph_free(&selection.graph);
    }
    else cli_wrong(cli, "%s", error);
    graph_query_free(&selection.query);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_KEEPER_OPTIONS,
    {CLI_SORT, "retained bytes length size capacity fill unused refs age line", 
     "What the largest have most of (default: retained)"},
    {CLI_FILL, NULL, "Show how full the collections are, by class"},
    CLI_GRAPH_KEYS_OPTION,
    {CLI_COUNT, NULL, "How many rows; 0: all (default: 20)"},
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof graph query app.graph Order", "the Orders, and what each keeps alive" },
    { "heapprof graph query app.graph 'Hash with length > 1000'", "large Hashes" },
    { "heapprof graph query app.graph 'file = cart.rb and not old' --sort bytes",
      "what that file has allocated and is young, if the profiler was on" },
    { "heapprof graph query app.graph 'unused > 100k'",
      "collections with much room that is not used" },
    { "heapprof graph query app.graph --fill", "how much of that room each class has" },
    { 0 }
};

const struct cli_command cli_graph_query_command = {
    .name = "graph query", .arguments = "FILE [EXPRESSION] [--sort=FIELD] [--fill] [-n N]",
    .summary = "The objects of a dump that fulfil a condition, such as Hash with length > 1000",
    .description =
        "An expression is a class, or compares a field of an object, or joins such by and,\n"
        "or, not and parentheses. CLASS with CONDITION means both. Without an expression\n"
        "every live object counts.\n"
        "\n"
        "Numbers: bytes, retained, length (also called size), capacity, fill (in percent),\n"
        "unused (bytes of room), refs (references to other objects), age (GCs survived, at\n"
        "most 3), line. Compare by = != < <= > >=; 1.5k and 2M are numbers.\n"
        "\n"
        "Texts: class, type, text (content or name), file, method. Compare by = != or\n"
        "=~ /regular expression/. Facts: old, frozen, shareable, finalizer.\n"
        "\n"
        "file, line and method are those of the line that allocated the object, if it was\n"
        "sampled. A comparison with something that an object does not have is not fulfilled.",
    .options = options, .examples = examples, .least = 1, .most = 2, .run = run,
};
