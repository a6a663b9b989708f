/* stuck.c - `heapprof graph stuck`: shows threads and fibers that nobody can wake, and what they
 * keep. */
#include <inttypes.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "report/text.h"

/* ---- in words ---- */

/* "3 threads and 1 fiber" */
static void
put_counts(FILE *out, uint32_t threads, uint32_t fibers)
{
    if (threads) cli_graph_put_count(out, threads, "thread", "threads");
    if (threads && fibers) fputs(" and ", out);
    if (fibers) cli_graph_put_count(out, fibers, "fiber", "fibers");
}

void
cli_graph_put_stuck(FILE *out, const struct graph_stuck *stuck)
{
    bool one = stuck->threads + stuck->fibers == 1;

    put_counts(out, stuck->threads, stuck->fibers);
    fputs(one ? " is stuck: nobody can wake it. It keeps "
              : " are stuck: nobody can wake them. They keep ", out);
    cli_graph_put_amount(out, (double)stuck->bytes, "bytes");
}

/* "Object#run at app.rb:12", of the label "code in Object#run at /srv/app.rb:12". */
static void
put_frame(FILE *out, const struct graph *graph, uint32_t label)
{
    static const char code[] = "code in ";
    const char *frame = graph_string(&graph->names, label);

    if (!strncmp(frame, code, strlen(code))) frame += strlen(code);
    graph_put_place(out, graph, frame, strlen(frame));
}

/* "Queue" for Thread::Queue. */
static const char *
short_class(const struct graph *graph, uint32_t object)
{
    const char *name = graph_class_name(graph, object);

    return strncmp(name, "Thread::", 8) ? name : name + 8;
}

static void
put_awaited(FILE *out, const struct graph *graph, const struct graph_stuck_row *row)
{
    const struct graph_waiter *waiter = &row->example;
    const char *name = waiter->awaited ? short_class(graph, waiter->awaited) : "";

    switch (waiter->awaits) {
      case GRAPH_AWAITS_WAKING: fputs(" until it is woken, and nobody else has it", out); break;
      case GRAPH_AWAITS_RACTOR:
        fputs(" for somebody who has its Ractor, and nobody else does", out);
        break;
      case GRAPH_AWAITS_OWNER:
        fprintf(out, " for a %s that a stuck thread has locked", name);
        break;
      case GRAPH_AWAITS_THREAD: fprintf(out, " for a %s that is stuck, too", name); break;
      default: fprintf(out, " for a %s that nobody else reaches", name);
    }
}

/* "130 threads started at worker.rb:12, waiting in Object#run at worker.rb:14 for a Queue that
 * nobody else reaches, keep 33.9 MB" */
static void
put_row(FILE *out, const struct graph *graph, const struct graph_stuck_row *row)
{
    const struct graph_waiter *waiter = &row->example;
    uint32_t text = graph_text(graph, waiter->object);
    const char *start = graph_string(&graph->names, text);

    if (waiter->fiber) cli_graph_put_count(out, row->count, "fiber", "fibers");
    else cli_graph_put_count(out, row->count, "thread", "threads");
    fputs(" started at ", out);
    graph_put_place(out, graph, start, graph_place_length(start));
    fputs(", waiting", out);
    if (waiter->where) {
        fputs(" in ", out);
        put_frame(out, graph, waiter->where);
    }
    if (waiter->own && waiter->own != waiter->where) {
        fputs(", called by ", out);
        put_frame(out, graph, waiter->own);
        fputc(',', out);
    }
    put_awaited(out, graph, row);
    fputs(row->count == 1 ? ", keeps " : ", keep ", out);
    cli_graph_put_amount(out, (double)row->bytes, "bytes");
}

/* ---- text and JSON ---- */

struct stuck_page {
    const struct graph *graph;
    const struct graph_stuck *stuck;
    bool     held;               /* shows held ones, too */
    uint32_t limit;              /* of rows; 0: all */
};

static bool
shown_p(const struct stuck_page *page, uint32_t row)
{
    return (page->held || !page->stuck->rows[row].held) && (page->limit == 0 || row < page->limit);
}

static bool
put_rows(const struct stuck_page *page)
{
    for (uint32_t i = 0; i < page->stuck->row_count; i++) {
        const struct graph_stuck_row *row = &page->stuck->rows[i];
        struct cli_text text;
        if (!shown_p(page, i)) continue;
        if (!cli_text_begin(&text)) return false;
        printf("%"PRIu32". ", i + 1);
        put_row(text.out, page->graph, row);
        fprintf(text.out, row->count == 1 ? "; 0x%"PRIx64 : "; one of them is 0x%"PRIx64,
                graph_address(page->graph, row->example.object));
        if (row->held) fputs("; held", text.out);
        cli_text_show(&text, 0, false);
        putchar('\n');
    }
    return true;
}

/* The functions of an extension have failed, so its objects lead nowhere. */
static void
put_skipped(const struct graph *graph)
{
    const char *type = graph_fact(&graph->names, "skipped");

    if (!type) return;
    fputs("\nThe dump has no references of ", stdout);
    report_put(stdout, type, 0, false);
    puts(": what nothing else leads to looks as if nobody could reach it");
}

/* What the rows do not say. */
static void
put_rest(const struct stuck_page *page)
{
    const struct graph_stuck *stuck = page->stuck;
    uint32_t held = stuck->held_threads + stuck->held_fibers, hidden = 0;

    for (uint32_t i = 0; i < stuck->row_count; i++) {
        hidden += (page->held || !stuck->rows[i].held) && !shown_p(page, i);
    }
    if (hidden) cli_graph_put_left(hidden);
    if (held) {
        putchar('\n');
        put_counts(stdout, stuck->held_threads, stuck->held_fibers);
        printf(held == 1 ? " waits" : " wait");
        printf(", too, for what nobody else reaches, but the program has %s, and can end %s%s\n",
               held == 1 ? "it" : "them", held == 1 ? "it" : "them",
               page->held ? "" : ": --held shows this");
    }
    if (stuck->waiters.unnamed) {
        putchar('\n');
        cli_graph_put_count(stdout, stuck->waiters.unnamed, "thread waits", "threads wait");
        puts(" for what the dump does not name: whether somebody can wake it is not known");
    }
    put_skipped(page->graph);
}

static bool
put_text(const struct stuck_page *page)
{
    if (page->stuck->threads + page->stuck->fibers) {
        cli_graph_put_stuck(stdout, page->stuck);
        putchar('\n');
    }
    else puts("No thread and no fiber is stuck.");
    if (page->stuck->row_count && shown_p(page, 0)) putchar('\n');
    if (!put_rows(page)) return false;
    put_rest(page);
    return true;
}

static bool
json_row(struct report_json *json, const struct graph *graph, const struct graph_stuck_row *row)
{
    struct cli_text text;

    report_json_line(json);
    report_json_begin(json, '{');
    if (!cli_text_begin(&text)) return false;
    put_row(text.out, graph, row);
    report_json_key(json, "text");
    cli_text_json(&text, json);
    report_json_member_text(json, "kind", row->example.fiber ? "fiber" : "thread");
    report_json_member_bool(json, "held", row->held);
    report_json_member_unsigned(json, "count", row->count);
    report_json_member_unsigned(json, "bytes", row->bytes);
    cli_graph_json_address(json, "example", graph_address(graph, row->example.object));
    if (row->example.awaited) {
        cli_graph_json_address(json, "awaited", graph_address(graph, row->example.awaited));
        report_json_member_text(json, "awaited_class",
                                graph_class_name(graph, row->example.awaited));
    }
    report_json_end(json, '}');
    return true;
}

void
cli_graph_json_stuck(struct report_json *json, const struct graph_stuck *stuck)
{
    report_json_member_unsigned(json, "threads", stuck->threads);
    report_json_member_unsigned(json, "fibers", stuck->fibers);
    report_json_member_unsigned(json, "bytes", stuck->bytes);
}

static bool
put_json(const struct stuck_page *page)
{
    struct report_json json = {.out = stdout};
    const struct graph_stuck *stuck = page->stuck;

    report_json_begin(&json, '{');
    cli_graph_json_stuck(&json, stuck);
    report_json_member_unsigned(&json, "held_threads", stuck->held_threads);
    report_json_member_unsigned(&json, "held_fibers", stuck->held_fibers);
    report_json_member_unsigned(&json, "unnamed", stuck->waiters.unnamed);
    report_json_member_begin(&json, "rows", '[');
    for (uint32_t i = 0; i < stuck->row_count; i++) {
        if (shown_p(page, i) && !json_row(&json, page->graph, &stuck->rows[i])) return false;
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putchar('\n');
    return true;
}

/* ---- the command ---- */

static bool
show(const struct cli *cli, struct graph *graph, long limit)
{
    struct graph_stuck stuck;
    struct stuck_page page = {graph, &stuck, cli->values[CLI_HELD], (uint32_t)limit};
    bool room;

    cli_doing("looking for who can be woken");
    room = graph_stuck_find(&stuck, graph);
    cli_doing(NULL);
    room = room && (cli->values[CLI_JSON] ? put_json : put_text)(&page);
    graph_stuck_free(&stuck);
    return room;
}

static int
run(struct cli *cli)
{
    struct cli_graph graph;
    long limit;
    int status;

    if (!cli_number(cli, CLI_COUNT, 0, 20, &limit)) return CLI_USAGE;
    status = cli_graph_load(cli, cli->operands[0], &graph, CLI_GRAPH_LENGTHS);
    if (status == CLI_DONE && !graph.graph.complete) {
        status = cli_wrong(cli,
                           "%s: %s; what is missing could wake threads, so it takes a whole dump",
                           cli_name(cli->operands[0]), graph.incomplete);
    }
    if (status == CLI_DONE) {
        status = show(cli, &graph.graph, limit) ? cli_finish(cli) : cli_wrong(cli, "no memory");
    }
    cli_graph_free(&graph);
    return status;
}

static const struct cli_option options[] = {
    CLI_GRAPH_OPTIONS,
    {CLI_HELD, NULL, "Show also those that the program has, and could end"},
    {CLI_COUNT, NULL, "How many rows; 0: all (default: 20)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof graph stuck app.graph",
     "do threads wait for a Queue that is lost, and what do they keep?"},
    {0}
};

const struct cli_command cli_graph_stuck_command = {
    .name = "graph stuck", .arguments = "FILE [--held] [-n N]",
    .summary = "Threads and fibers of a dump that nobody can wake, and what they keep",
    .description =
        "A thread is stuck if it waits for something that nobody else reaches: a Queue, a\n"
        "ConditionVariable, a Mutex that a stuck thread has locked, the end of a stuck\n"
        "thread. It stays until the process ends, with all that its stack refers to. So does\n"
        "a fiber of a fiber scheduler. Each row is of those that were started at one place\n"
        "and wait at one place. What they keep would be free without them; what several\n"
        "rows keep together is in the first line alone.\n"
        "\n"
        "The main thread is never stuck, nor is what waits with a timeout, for IO or for\n"
        "another process. A thread that the program has, in a variable or on a stack, is\n"
        "held: Thread#kill could end it. Thread.list and ObjectSpace do not count.",
    .options = options, .examples = examples, .least = 1, .most = 1, .run = run,
};
