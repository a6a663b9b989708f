/* dups.c - `heapprof graph dups`: lists content that exists many times. */
#include <inttypes.h>
#include <string.h>

#include "cli/graph/repeats.h"
#include "report/text.h"

#define TEXT_COLUMNS 40

static bool
put_row(const struct graph_names *names, const struct graph_duplicate *duplicate)
{
    char amount[REPORT_AMOUNT_MAX];
    struct cli_text text;

    cli_graph_put_bytes((double)graph_wasted(duplicate));
    report_amount(amount, duplicate->objects, "count");
    printf("  %12s  ", amount);
    cli_graph_put_bytes((double)duplicate->bytes);
    printf("  %#"PRIx64"  ", duplicate->example);
    report_put(stdout, graph_string(names, names->classes[duplicate->class_number].name), 0, false);
    if (duplicate->text) {
        fputs("  ", stdout);
        report_put(stdout, graph_string(names, duplicate->text), TEXT_COLUMNS, false);
    }
    if (duplicate->stack) {
        if (!cli_text_begin(&text)) return false;
        cli_graph_put_site(text.out, names, duplicate->stack);
        fputs("  allocated at ", stdout);
        cli_text_show(&text, 0, false);
    }
    putchar('\n');
    return true;
}

static bool
put_text(const struct graph_duplicates *duplicates, uint32_t limit)
{
    cli_graph_put_repeated(duplicates);
    printf("%10s  %12s  %10s  %-14s  class\n", "wasted", "objects", "bytes each", "one of them");
    for (uint32_t i = 0; i < limit && duplicates->all[i].objects > 1; i++) {
        if (!put_row(&duplicates->names, &duplicates->all[i])) return false;
    }
    return true;
}

static void
json_row(struct report_json *json, const struct graph_names *names,
         const struct graph_duplicate *duplicate)
{
    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "class",
                            graph_string(names, names->classes[duplicate->class_number].name));
    report_json_member_unsigned(json, "objects", duplicate->objects);
    report_json_member_unsigned(json, "bytes", duplicate->bytes);
    report_json_member_unsigned(json, "wasted", graph_wasted(duplicate));
    cli_graph_json_address(json, "example", duplicate->example);
    if (duplicate->text) {
        report_json_member_text(json, "value", graph_string(names, duplicate->text));
    }
    report_json_end(json, '}');
}

static void
put_json(const struct graph_duplicates *duplicates, uint32_t limit)
{
    struct report_json json = {.out = stdout};

    report_json_begin(&json, '{');
    report_json_member_unsigned(&json, "objects", duplicates->objects - duplicates->count);
    report_json_member_unsigned(&json, "wasted", graph_all_wasted(duplicates));
    report_json_member_begin(&json, "groups", '[');
    for (uint32_t i = 0; i < limit && duplicates->all[i].objects > 1; i++) {
        json_row(&json, &duplicates->names, &duplicates->all[i]);
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
}

static int
show(const struct cli *cli, struct graph_duplicates *duplicates, long rows)
{
    uint32_t limit =
        rows && (unsigned long)rows < duplicates->count ? (uint32_t)rows : duplicates->count;
    bool room = true;

    graph_duplicates_sort(duplicates);
    if (cli->values[CLI_JSON]) put_json(duplicates, limit);
    else room = put_text(duplicates, limit);
    return room ? cli_finish(cli) : cli_wrong(cli, "no memory");
}

static int
run(struct cli *cli)
{
    const char *group = cli->values[CLI_GROUP];
    struct graph_duplicates duplicates;
    char error[HEAPPROF_DUMP_ERROR_MAX];
    struct cli_input input;
    size_t limit_bytes;
    bool complete, read;
    long rows;
    int status = CLI_WRONG;

    if (!cli_number(cli, CLI_COUNT, 0, 20, &rows) || !cli_graph_limit(cli, &limit_bytes))
        return CLI_USAGE;
    if (group && !strcmp(group, "holder"))
        return cli_graph_repeats(cli, GRAPH_REPEATS_BY_HOLDER, rows);
    if (group && !strcmp(group, "line")) return cli_graph_repeats(cli, GRAPH_REPEATS_BY_LINE, rows);
    if (!cli_open(cli, &input, cli->operands[0])) return CLI_WRONG;
    read = graph_duplicates_read(&duplicates, cli_more, &input, limit_bytes, &complete, error);
    cli_close(&input);
    if (!read || !complete) cli_unreadable(cli, &input, error);
    if (read) status = show(cli, &duplicates, rows);
    graph_duplicates_free(&duplicates);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_OPTIONS,
    {CLI_COUNT, NULL, "How many rows; 0: all (default: 20)"},
    {CLI_GROUP, "content holder line", "What a row stands for (default: content)"},
    {0}
};

static const struct cli_example examples[] = {
    { "heapprof graph dups app.graph",
      "which strings exist many times, and how much memory that wastes" },
    { "heapprof graph dups app.graph --group holder", "which variables hold them" },
    { 0 }
};

const struct cli_command cli_graph_dups_command = {
    .name = "graph dups", .arguments = "FILE [--group=GROUP] [-n N]",
    .summary = "Objects of a dump with the same content",
    .description =
        "Groups objects of one class and size that have the same content, such as strings\n"
        "of equal bytes. A dump has a hash of the content, and the key of the hash stays in\n"
        "the process, so the dump needs no values. Garbage counts, too.\n"
        "\n"
        "By holder, a row is a path from a root, without indices and keys. By line, it is the\n"
        "line that allocated the objects, and a sampled object counts as the objects it\n"
        "stands for: the numbers are estimates. Of k objects with one content k - 1 are too\n"
        "many. Each of them counts as that share of its bytes.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
