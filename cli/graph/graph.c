/* graph.c - what the commands of `heapprof graph` share. */
#include "cli/graph/graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/keys.h"
#include "graph/terms.h"
#include "report/own.h"
#include "report/text.h"

/* ---- reading ---- */

bool
cli_graph_limit(const struct cli *cli, size_t *bytes)
{
    static const char units[] = "KMGT";
    const char *text = cli->values[CLI_MEMORY], *unit;
    unsigned long long number;
    char *end;
    unsigned shift;

    *bytes = SIZE_MAX;
    if (!text) return true;
    errno = 0;
    number = strtoull(text, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (end != text && text[0] != '-' && errno == 0 && !(*end && !unit) && !(unit && end[1]) &&
        number <= SIZE_MAX >> shift) {
        *bytes = (size_t)number << shift;
        return true;
    }
    cli_usage(cli, "--memory=%s: give a size, such as 512M or 4G", text);
    return false;
}

static bool
find_trees(struct cli_graph *graph, int trees)
{
    bool room;

    cli_doing("finding what keeps what");
    room = graph_dominators_find(&graph->dominators, &graph->graph, trees & CLI_GRAPH_EXACTLY);
    if (room && (trees & CLI_GRAPH_DOMINATOR_TREE)) {
        cli_doing("putting in order what keeps what");
        room = graph_dominator_tree(&graph->dominator_tree, &graph->graph, &graph->dominators);
    }
    if (room && (trees & CLI_GRAPH_SHORTEST)) {
        cli_doing("finding the strongest paths");
        room = graph_shortest(&graph->shortest, &graph->graph, NULL);
    }
    if (room && graph->dominator_tree.space && graph->shortest.space) {
        cli_doing("finding what several keep");
        room = graph_entries_find(&graph->entries, &graph->graph, &graph->dominators,
                                  &graph->dominator_tree);
    }
    cli_doing(NULL);
    return room;
}

int
cli_graph_load(const struct cli *cli, const char *path, struct cli_graph *graph, int wanted)
{
    unsigned read = (wanted & CLI_GRAPH_LENGTHS ? GRAPH_LENGTHS : 0) |
                    (wanted & CLI_GRAPH_HASHES ? GRAPH_HASHES : 0);
    struct cli_input input;
    size_t limit_bytes;
    bool loaded;

    memset(graph, 0, sizeof(*graph));
    graph->graph.space.file = -1;
    if (!cli_graph_limit(cli, &limit_bytes)) return CLI_USAGE;
    if (!cli_open(cli, &input, path)) return CLI_WRONG;
    loaded =
        graph_load_wanted(&graph->graph, read, cli_more, &input, limit_bytes, graph->incomplete);
    cli_close(&input);
    if (loaded && (wanted & CLI_GRAPH_KEYS)) graph_name_keys(&graph->graph);
    return loaded ? CLI_DONE : cli_unreadable(cli, &input, graph->incomplete);
}

int
cli_graph_find(const struct cli *cli, const char *path, struct cli_graph *graph, int trees)
{
    return find_trees(graph, trees) ? CLI_DONE : cli_wrong(cli, "%s: no memory", cli_name(path));
}

int
cli_graph_read(const struct cli *cli, const char *path, struct cli_graph *graph, int trees)
{
    int status = cli_graph_load(cli, path, graph, trees);

    return status == CLI_DONE ? cli_graph_find(cli, path, graph, trees) : status;
}

void
cli_graph_free(struct cli_graph *graph)
{
    if (graph->entries.space) graph_entries_free(&graph->entries);
    if (graph->dominator_tree.space) graph_tree_free(&graph->dominator_tree);
    if (graph->shortest.space) graph_tree_free(&graph->shortest);
    if (graph->dominators.space) graph_dominators_free(&graph->dominators);
    if (graph->graph.names.space) graph_free(&graph->graph);
}

void
cli_graph_warn(const struct cli *cli, const char *path, const struct cli_graph *graph)
{
    if (!graph->graph.complete) cli_wrong(cli, "%s: %s", cli_name(path), graph->incomplete);
}

uint32_t
cli_graph_object(const struct graph *graph, const char *word)
{
    uint64_t address;
    char *end;

    if (strncmp(word, "0x", 2)) return 0;
    errno = 0;
    address = strtoull(word, &end, 16);
    return *end || errno ? 0 : graph_find(graph, address);
}

void
cli_graph_time(char text[CLI_GRAPH_TIME_MAX], const struct graph *graph)
{
    const char *fact = graph_fact(&graph->names, "time"); /* nanoseconds */
    time_t seconds = fact ? (time_t)(strtoll(fact, NULL, 10) / 1000000000) : 0;
    struct tm local;

    text[0] = '\0';
    if (seconds <= 0 || !localtime_r(&seconds, &local)) return;
    strftime(text, CLI_GRAPH_TIME_MAX, "%Y-%m-%d %H:%M:%S %z", &local);
}

/* ---- text ---- */

bool
cli_text_begin(struct cli_text *text)
{
    text->bytes = NULL;
    text->out = open_memstream(&text->bytes, &text->size);
    return text->out;
}

unsigned
cli_text_show(struct cli_text *text, unsigned width, bool tail)
{
    unsigned columns = 0;

    if (fclose(text->out) == 0) columns = report_put(stdout, text->bytes, width, tail);
    free(text->bytes);
    return columns;
}

void
cli_text_json(struct cli_text *text, struct report_json *json)
{
    if (fclose(text->out) == 0) report_json_string(json, text->bytes, text->size);
    else report_json_null(json);
    free(text->bytes);
}

bool
cli_graph_put_object(const struct graph *graph, uint32_t object, unsigned width)
{
    struct cli_text text;

    if (!cli_text_begin(&text)) return false;
    graph_put_object(text.out, graph, object);
    cli_text_show(&text, width, false);
    return true;
}

void
cli_graph_put_flags(FILE *out, uint32_t bits)
{
    static const struct {uint32_t bit; const char *name;} flags[] = {
        {HEAPPROF_DUMP_FROZEN, "frozen"}, {HEAPPROF_DUMP_SHAREABLE, "shareable"},
        {HEAPPROF_DUMP_FINALIZER, "has a finalizer"},
    };

    if ((bits & HEAPPROF_DUMP_AGE) == HEAPPROF_DUMP_AGE) fputs("old", out);
    else fprintf(out, "survived %u GCs", bits & HEAPPROF_DUMP_AGE);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (bits & flags[i].bit) fprintf(out, ", %s", flags[i].name);
    }
}

void
cli_graph_put_frame(FILE *out, const struct graph_names *names, uint32_t stack)
{
    const struct heapprof_dump_stack *frame = &names->stacks[stack];
    const char *file =
        report_short_path(graph_string(names, frame->file), graph_fact(names, "directory"));

    if (file[0]) fprintf(out, "%s:%"PRIu32" ", file, frame->line);
    fputs(graph_string(names, frame->method), out);
}

/* The innermost frame of the application itself; 0 if the stack has no such frame. */
static uint32_t
own_frame(const struct graph_names *names, uint32_t stack)
{
    const char *directories = graph_directories(names);

    while (stack && !report_own_p(graph_string(names, names->stacks[stack].file), directories)) {
        stack = names->stacks[stack].caller;
    }
    return stack;
}

bool
cli_graph_next_label(const char **at, struct cli_graph_label *label)
{
    const char *key = *at, *key_end = strchr(key, HEAPPROF_DUMP_DOING_END);
    const char *end = key_end ? strchr(key_end + 1, HEAPPROF_DUMP_DOING_END) : NULL;

    if (!end) return false;
    *label = (struct cli_graph_label){key, key_end + 1, (size_t)(key_end - key),
                                      (size_t)(end - key_end - 1)};
    *at = end + 1;
    return true;
}

uint32_t
cli_graph_own_site(const struct graph_names *names, uint32_t stack)
{
    uint32_t own = own_frame(names, stack);

    return own ? own : graph_site(names, stack);
}

void
cli_graph_put_site(FILE *out, const struct graph_names *names, uint32_t stack)
{
    uint32_t site = graph_site(names, stack), own = own_frame(names, stack);

    cli_graph_put_frame(out, names, own ? own : site);
    if (!own || own == site) return;
    fputs(", in ", out);
    cli_graph_put_frame(out, names, site);
}

void
cli_graph_json_stack(struct report_json *json, const struct graph *graph, uint32_t stack)
{
    const struct graph_names *names = &graph->names;

    report_json_begin(json, '[');
    for (; stack; stack = names->stacks[stack].caller) {
        const struct heapprof_dump_stack *frame = &names->stacks[stack];
        report_json_begin(json, '{');
        report_json_member_text(json, "file", graph_string(names, frame->file));
        report_json_member_unsigned(json, "line", frame->line);
        report_json_member_text(json, "method", graph_string(names, frame->method));
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

void
cli_graph_json_facts(struct report_json *json, const struct graph_names *names, const char *key,
                     bool footer)
{
    report_json_member_begin(json, key, '[');
    for (uint32_t i = 0; i < names->fact_count; i++) {
        if (names->facts[i].footer != footer) continue;
        report_json_line(json);
        report_json_begin(json, '[');
        report_json_text(json, names->text + names->facts[i].key);
        report_json_text(json, names->text + names->facts[i].value);
        report_json_end(json, ']');
    }
    report_json_end(json, ']');
}

void
cli_graph_json_address(struct report_json *json, const char *key, uint64_t address)
{
    char text[24];

    snprintf(text, sizeof(text), "%#"PRIx64, address);
    report_json_member_text(json, key, text);
}

bool
cli_graph_json_object(struct report_json *json, const struct cli_graph *graph, uint32_t object)
{
    struct cli_text text;

    cli_graph_json_address(json, "address", graph_address(&graph->graph, object));
    if (!cli_text_begin(&text)) return false;
    graph_put_object(text.out, &graph->graph, object);
    report_json_key(json, "name");
    cli_text_json(&text, json);
    report_json_member_unsigned(json, "bytes", graph->graph.sizes[object]);
    report_json_member_unsigned(json, "retained", graph->dominators.retained[object]);
    return true;
}

bool
cli_graph_put_way(FILE *out, const struct cli_graph *graph, uint32_t object, bool several)
{
    bool room = graph_put_way(out, &graph->graph, &graph->shortest, object, several);

    if (!several &&
        graph_entries_several_p(&graph->entries, &graph->graph, &graph->dominators, object))
        fputs(", among others", out);
    return room;
}

bool
cli_graph_json_way(struct report_json *json, const char *key, const struct graph *graph,
                   const struct graph_tree *tree, uint32_t object, bool merged)
{
    struct cli_text text;
    bool room;

    if (!cli_text_begin(&text)) return false;
    room = graph_put_way(text.out, graph, tree, object, merged);
    report_json_key(json, key);
    cli_text_json(&text, json);
    return room;
}

void
cli_graph_put_amount(FILE *out, double value, const char *unit)
{
    char text[REPORT_AMOUNT_MAX];

    report_amount(text, value, unit);
    fputs(text, out);
}

void
cli_graph_put_count(FILE *out, uint64_t count, const char *one, const char *many)
{
    char text[REPORT_COUNT_MAX];

    report_count(text, count, one, many);
    fputs(text, out);
}

void
cli_graph_put_objects(FILE *out, uint64_t count)
{
    cli_graph_put_count(out, count, "object", "objects");
}

void
cli_graph_put_left(uint64_t count)
{
    fputs("... and ", stdout);
    cli_graph_put_amount(stdout, (double)count, "count");
    puts(" more");
}

void
cli_graph_put_class(const char *name, unsigned width)
{
    const char *term = graph_term(name);
    char text[120];

    if (term) snprintf(text, sizeof(text), "%.60s: %s", name, term);
    report_put(stdout, term ? text : name, width, false);
}

void
cli_graph_put_bytes(double bytes)
{
    char text[REPORT_AMOUNT_MAX];

    report_amount(text, bytes, "bytes");
    printf("%10s", text);
}

void
cli_graph_put_share(double part, double whole)
{
    char text[REPORT_AMOUNT_MAX];

    report_share(text, part, whole);
    printf("  %6s", text);
}

void
cli_graph_put_head(void)
{
    printf("%10s  %6s  %10s  %6s  %12s\n", "bytes", "share", "retained", "share", "objects");
}

void
cli_graph_put_group(const struct graph_group *group, double whole)
{
    char amount[REPORT_AMOUNT_MAX];

    cli_graph_put_bytes(group->bytes);
    cli_graph_put_share(group->bytes, whole);
    fputs("  ", stdout);
    cli_graph_put_bytes(group->retained);
    cli_graph_put_share(group->retained, whole);
    report_amount(amount, group->objects, "count");
    printf("  %12s  ", amount);
}
