/* pages.c - `heapprof graph pages`: shows how full heap pages are, and what keeps nearly empty
 * ones. */
#include <inttypes.h>

#include "cli/graph/graph.h"
#include "graph/pages.h"
#include "report/text.h"

static const char *
class_name(const struct graph_pages *pages, const struct graph_pin *pin)
{
    return graph_string(&pages->names, pages->names.classes[pin->class_number].name);
}

static void
put_pool(const struct graph_pool *pool)
{
    char amount[REPORT_AMOUNT_MAX];

    printf("%6"PRIu32"  %8"PRIu32"  ", pool->slot_bytes, pool->pages);
    report_amount(amount, (double)pool->objects, "count");
    printf("%12s", amount);
    cli_graph_put_share((double)pool->objects, (double)pool->slots);
    fputs("  ", stdout);
    cli_graph_put_bytes((double)(pool->slots - pool->objects) * pool->slot_bytes);
    fputs(" ", stdout);
    for (int i = 0; i < GRAPH_FILLINGS; i++) printf(" %6"PRIu32, pool->filled[i]);
    putchar('\n');
}

static void
put_text(const struct graph_pages *pages, uint32_t limit)
{
    bool one = pages->sparse_pages == 1;

    printf("%6s  %8s  %12s  %6s  %10s  pages by tenths in use: up to 1, 2 ... 10\n", "slot",
           "pages", "objects",
           "used", "free");
    printf("%6s  %8s  %12s  %6s  %10s ", "", "", "", "", "");
    for (int i = 1; i <= GRAPH_FILLINGS; i++) printf(" %6d", i);
    putchar('\n');
    for (uint32_t i = 0; i < pages->pool_count; i++) put_pool(&pages->pools[i]);
    printf("\n%"PRIu32" page%s at most one tenth in use. On %s are\n%8s  %12s  class\n",
           pages->sparse_pages, one ? " has" : "s have", one ? "it" : "them", "pages", "objects");
    for (uint32_t i = 0; i < limit; i++) {
        char amount[REPORT_AMOUNT_MAX];
        report_amount(amount, (double)pages->pins[i].objects, "count");
        printf("%8"PRIu32"  %12s  ", pages->pins[i].pages, amount);
        cli_graph_put_class(class_name(pages, &pages->pins[i]), 0);
        putchar('\n');
    }
}

static void
json_pool(struct report_json *json, const struct graph_pool *pool)
{
    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_unsigned(json, "slot_bytes", pool->slot_bytes);
    report_json_member_unsigned(json, "pages", pool->pages);
    report_json_member_unsigned(json, "objects", pool->objects);
    report_json_member_unsigned(json, "slots", pool->slots);
    report_json_member_begin(json, "tenths", '[');
    for (int i = 0; i < GRAPH_FILLINGS; i++) report_json_unsigned(json, pool->filled[i]);
    report_json_end(json, ']');
    report_json_end(json, '}');
}

static void
put_json(const struct graph_pages *pages, uint32_t limit)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_begin(&json, "pools", '[');
    for (uint32_t i = 0; i < pages->pool_count; i++) json_pool(&json, &pages->pools[i]);
    report_json_end(&json, ']');
    report_json_member_unsigned(&json, "sparse_pages", pages->sparse_pages);
    report_json_member_begin(&json, "on_sparse_pages", '[');
    for (uint32_t i = 0; i < limit; i++) {
        report_json_line(&json);
        report_json_begin(&json, '{');
        report_json_member_text(&json, "class", class_name(pages, &pages->pins[i]));
        report_json_member_unsigned(&json, "pages", pages->pins[i].pages);
        report_json_member_unsigned(&json, "objects", pages->pins[i].objects);
        report_json_end(&json, '}');
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
}

static int
run(struct cli *cli)
{
    struct graph_pages pages;
    char error[HEAPPROF_DUMP_ERROR_MAX];
    struct cli_input input;
    size_t limit_bytes;
    bool complete, read;
    long rows;

    if (!cli_number(cli, CLI_COUNT, 0, 10, &rows) || !cli_graph_limit(cli, &limit_bytes))
        return CLI_USAGE;
    if (!cli_open(cli, &input, cli->operands[0])) return CLI_WRONG;
    read = graph_pages_read(&pages, cli_more, &input, limit_bytes, &complete, error);
    cli_close(&input);
    if (!read || !complete) cli_unreadable(cli, &input, error);
    if (read) {
        uint32_t limit =
            rows && (unsigned long)rows < pages.pin_count ? (uint32_t)rows : pages.pin_count;
        (cli->values[CLI_JSON] ? put_json : put_text)(&pages, limit);
    }
    graph_pages_free(&pages);
    return read ? cli_finish(cli) : CLI_WRONG;
}

static const struct cli_option options[] = {
    CLI_GRAPH_OPTIONS,
    {CLI_COUNT, NULL, "How many classes; 0: all (default: 10)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph pages app.graph", "is the heap fragmented, and by which objects?"},
    {0}
};

const struct cli_command cli_graph_pages_command = {
    .name = "graph pages", .arguments = "FILE [-n N]",
    .summary = "How full the heap pages of a dump are, and what keeps nearly empty ones",
    .description =
        "Ruby returns a heap page to the system when no object is left on it. For each slot\n"
        "size this shows the number of pages, how much of them is in use, and how many\n"
        "pages have one tenth, two tenths and so on in use. Then come the classes of the\n"
        "objects on pages that have at most one tenth in use. Garbage counts, too: dump\n"
        "with gc: true to leave it out.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
