/* ps.c - heapprof ps: lists the Ruby processes of this host. */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/live/ps_read.h"
#include "report/json.h"
#include "report/text.h"

/* Columns of the numbers, with the space behind them. NOW_LEAST: what a place in a program needs.
 * */
enum { NUMBERS_WIDTH = 51, NOW_LEAST = 16 };

/* ---- as text ---- */

/* A number of bytes; "-" if it is unknown. */
static void
put_bytes(uint64_t bytes, int width)
{
    char amount[REPORT_AMOUNT_MAX] = "-";

    if (bytes) report_amount(amount, (double)bytes, "bytes");
    printf("%*s", width, amount);
}

/* How wide the last column but one is: as its longest text, but at most half of what the numbers
 * leave of the terminal. */
static unsigned
now_width(const struct ps_rows *rows, unsigned width)
{
    unsigned longest = NOW_LEAST, most = width > NUMBERS_WIDTH ? (width - NUMBERS_WIDTH) / 2 : 0;

    for (size_t i = 0; i < rows->count; i++) {
        size_t length = rows->all[i].kind == PS_RUBY ? strlen(rows->all[i].now) : 0;
        if (length > longest) longest = (unsigned)length;
    }
    if (width && longest > most) longest = most > NOW_LEAST ? most : NOW_LEAST;
    return longest;
}

/* Writes a row. What cannot be read has its reason in place of what it does. */
static void
put_row(const struct ps_row *row, unsigned now, unsigned width)
{
    unsigned left = width > NUMBERS_WIDTH + now + 2 ? width - NUMBERS_WIDTH - now - 2 : 0;

    printf("%8d  %7" PRIu64 "  ", (int)row->process.pid, row->threads);
    put_bytes(row->rss_bytes, 9);
    put_bytes(row->heap_bytes, 11);
    printf("  %-8s  ", row->kind != PS_RUBY ? "-" : row->profiled ? "yes" : "no");
    unsigned used = row->kind == PS_RUBY ? report_put(stdout, row->now, now, true) : 0;
    printf("%*s", (int)(now - used + 2), "");
    if (!width || left) report_put(stdout, row->process.title, left, false);
    putchar('\n');
    if (row->kind != PS_RUBY) {
        printf("%8s  ", "");
        report_put(stdout, row->reason, width > 10 ? width - 10 : 0, false);
        putchar('\n');
    }
}

static void
put_table(const struct ps_rows *rows)
{
    unsigned width = cli_width(), now = now_width(rows, width);

    printf("%8s  %7s  %9s%11s  %-8s  %-*s  title\n", "pid", "threads", "RSS", "live heap",
           "profiled", (int)now, "now");
    for (size_t i = 0; i < rows->count; i++) put_row(&rows->all[i], now, width);
}

/* ---- as JSON ---- */

static void
json_row(struct report_json *json, const struct ps_row *row)
{
    bool ruby = row->kind == PS_RUBY;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_integer(json, "pid", row->process.pid);
    report_json_member_text(json, "title", row->process.title);
    report_json_member_text(json, "name", row->process.name);
    report_json_member_text(json, "program", row->process.program);
    report_json_member_text(json, "container",
                            *row->process.container ? row->process.container : NULL);
    report_json_member_unsigned(json, "threads", row->threads);
    report_json_member_unsigned(json, "rss_bytes", row->rss_bytes);
    report_json_key(json, "live_heap_bytes");
    if (row->heap_bytes) report_json_unsigned(json, row->heap_bytes);
    else report_json_null(json);
    report_json_key(json, "profiled");
    if (ruby) report_json_bool(json, row->profiled);
    else report_json_null(json);
    report_json_member_text(json, "now", ruby ? row->now : NULL);
    report_json_member_text(json, "error", ruby ? NULL : row->reason);
    report_json_end(json, '}');
}

static void
put_json(const struct ps_rows *rows)
{
    struct report_json json = { .out = stdout };

    report_json_begin(&json, '[');
    for (size_t i = 0; i < rows->count; i++) json_row(&json, &rows->all[i]);
    report_json_end(&json, ']');
    putchar('\n');
}

/* ---- the command ---- */

static int
run(struct cli *cli)
{
    struct ps_rows rows;
    char hidden[REPORT_COUNT_MAX];

    if (!ps_rows_read(&rows)) {
        ps_rows_free(&rows);
        return cli_wrong(cli, "the processes cannot be listed");
    }
    if (cli->values[CLI_JSON]) put_json(&rows);
    else if (rows.count) put_table(&rows);
    else puts("no Ruby process");
    if (rows.hidden) {
        report_count(hidden, rows.hidden, "process", "processes");
        fprintf(stderr, "heapprof ps: you may not read %s, which may be Ruby%s\n", hidden,
                geteuid() == 0 ? "" : ": root may");
    }
    ps_rows_free(&rows);
    return cli_finish(cli);
}

static const struct cli_option options[] = {
    { CLI_JSON, NULL, "Print JSON" },
    CLI_OUTPUT_OPTION,
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof ps", "which Rubies there are, how large they are, and what each is doing" },
    { "heapprof ps --json | jq '.[] | select(.profiled) | .pid'", "those that are profiled" },
    { 0 }
};

const struct cli_command cli_ps_command = {
    .name = "ps",
    .arguments = "[options]",
    .summary = "List the Ruby processes of this host",
    .description =
        "Lists the processes that run a ruby with the heap profiler, the largest first. No\n"
        "process is stopped. The columns:\n"
        "  threads   of Ruby; of a process that cannot be read, of the system\n"
        "  RSS       memory that the process has in use\n"
        "  live heap what its live objects take of that, by the counters of the collector. What\n"
        "            they hold by malloc is not in it\n"
        "  profiled  whether RUBY_HEAPPROF is on, so that `heapprof snapshot PID` has something\n"
        "            to read\n"
        "  now       where in the application the thread is that runs. If none runs, a thread\n"
        "            that waits for a lock or a disk; or idle\n"
        "\n"
        "A process that seems to be a Ruby and cannot be read is listed with the reason. For the\n"
        "rights see `heapprof stacks --help`.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 0,
    .operand = CLI_OTHER,
    .run = run,
};
