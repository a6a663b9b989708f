/* suspects.c - describes what may be a leak, for `graph report` and `graph view`. */
#include <stdlib.h>
#include <string.h>

#include "cli/graph/graph.h"
#include "graph/terms.h"
#include "report/text.h"

#define PERCENT_LEAST 5          /* of what is alive */
#define BYTES_LEAST (1 << 20)    /* in a small program, less is no news unless it is half of all */

bool
cli_graph_suspects_find(struct cli_graph_suspects *suspects, struct cli_graph *graph, size_t most,
                        long percent)
{
    uint64_t alive = graph->dominators.retained[0];

    memset(suspects, 0, sizeof(*suspects));
    suspects->least = alive / 100 * (uint64_t)(percent < 0 ? PERCENT_LEAST : percent) + 1;
    if (percent < 0 && suspects->least < BYTES_LEAST)
        suspects->least = BYTES_LEAST < alive / 2 ? BYTES_LEAST : alive / 2;
    suspects->all = calloc(most, sizeof(*suspects->all));
    if (!suspects->all ||
        !graph_patterns_make(&suspects->patterns, &graph->graph, &graph->dominator_tree) ||
        !graph_patterns_gather(&suspects->patterns, &graph->graph, suspects->least))
        return false;
    suspects->count = graph_suspects(suspects->all, most, &graph->graph, &suspects->patterns,
                                     graph->dominators.retained, suspects->least);
    return suspects->count != SIZE_MAX;
}

void
cli_graph_suspects_free(struct cli_graph_suspects *suspects)
{
    if (suspects->patterns.space) graph_patterns_free(&suspects->patterns);
    free(suspects->all);
}

/* ---- in words ---- */

struct telling {
    FILE *out;
    const struct cli_graph *graph;
    const struct graph_patterns *patterns;
    const struct graph_suspect *suspect;
    const struct graph_pattern *pattern; /* of the suspect */
};

static void
put_kept(const struct telling *telling, const char *verb)
{
    char share[REPORT_AMOUNT_MAX];
    uint64_t retained = telling->suspect->retained;

    report_share(share, (double)retained, (double)telling->graph->dominators.retained[0]);
    fputs(verb, telling->out);
    cli_graph_put_amount(telling->out, (double)retained, "bytes");
    fprintf(telling->out, " (%s)", share);
}

/* " started at worker.rb:12", if the object is a thread or fiber of which the dump says that. */
static void
put_place(const struct telling *telling, uint32_t object)
{
    const struct graph *graph = &telling->graph->graph;
    uint32_t text = graph_layout(graph, object)->thread ? graph_text(graph, object) : 0;
    const char *place = graph_string(&graph->names, text);

    if (!text) return;
    fputs(" started at ", telling->out);
    graph_put_place(telling->out, graph, place, graph_place_length(place));
}

/* True if the objects of the pattern are classes or modules, each with a name of its own. */
static bool
named_p(const struct telling *telling, const struct graph_pattern *pattern)
{
    const struct graph *graph = &telling->graph->graph;

    return pattern->siblings < 2 && pattern->class_number >= graph->names.class_count &&
           !graph_layout(graph, pattern->example)->thread;
}

/* True if objects of that pattern are of a class that the list has, which begins with `first`. */
static bool
in_period_p(const struct graph_patterns *patterns, uint32_t first, const struct graph_pattern *it)
{
    const struct graph_pattern *all = patterns->all;

    for (uint32_t at = all[first].loop, steps = 0; at && steps < GRAPH_PERIOD_MOST;
         at = all[at].parent, steps++) {
        if (all[at].class_number == it->class_number) return true;
        if (at == first) break;
    }
    return false;
}

/* How many objects of its class are in the list that begins with a pattern. From one of them,
 * others may branch off by several ways: then it is a tree. The first node of a list of one step is
 * what gathers it, of pattern `above`; 0 if it is not. Returns 0 if there is no memory. */
static uint64_t
count_nodes(const struct graph_patterns *patterns, uint32_t number, uint32_t above, bool *tree)
{
    const struct graph_pattern *list = &patterns->all[number];
    uint8_t *among = calloc(patterns->count, 1);
    uint32_t from = above ? above : number, ways = 0;
    uint64_t count = 0;

    for (uint32_t i = from; among && i < patterns->count; i++) {
        const struct graph_pattern *it = &patterns->all[i];
        bool node = it->class_number == list->class_number;
        among[i] = i == from || (among[it->parent] && in_period_p(patterns, number, it));
        if (!among[i] || !node) continue;
        count += it->objects;
        ways += i != above;
    }
    *tree = ways > 1;
    free(among);
    return count;
}

/* "200,000 Orders", "a list of 4,000 Entry -> Array", "a list of 4,000 Nodes", "a tree of 4,000
 * Nodes". */
static bool
put_part(const struct telling *telling, uint32_t number)
{
    const struct graph_pattern *part = &telling->patterns->all[number],
                               *parent = &telling->patterns->all[part->parent];
    bool list = part->loop && part->objects > 1, one_step = part->loop == number, tree = false;
    bool first = list && one_step && part->parent && parent->class_number == part->class_number;
    uint64_t count = list ? count_nodes(telling->patterns, number, first ? part->parent : 0, &tree)
                          : part->objects;

    if (count == 0) return false;
    if (list) fputs(tree ? "a tree of " : "a list of ", telling->out);
    if (!named_p(telling, part) && (!list || one_step)) {
        graph_put_counted(telling->out, count, "",
                          graph_class_name(&telling->graph->graph, part->example));
        if (part->siblings < 2) put_place(telling, part->example);
        return true;
    }
    cli_graph_put_amount(telling->out, (double)count, "count");
    fputc(' ', telling->out);
    if (list) graph_put_period(telling->out, &telling->graph->graph, telling->patterns, number);
    else graph_put_pattern_class(telling->out, &telling->graph->graph, telling->patterns, part);
    return true;
}

/* ", of which @names keeps 4.79 MB": it is one object, which does not keep nearly all. */
static void
put_largest_part(const struct telling *telling, const struct graph_pattern *part)
{
    fputs(", of which ", telling->out);
    graph_put_pattern_label(telling->out, &telling->graph->graph, part);
    fputs(" keeps ", telling->out);
    cli_graph_put_amount(telling->out, (double)telling->suspect->part_retained, "bytes");
}

/* "`Cart::CACHE` keeps 187 MB (76%), gathered in one Hash of 200,000 Orders" */
static bool
put_one(const struct telling *telling)
{
    const struct graph_suspect *suspect = telling->suspect;
    const struct graph_pattern *part = &telling->patterns->all[suspect->part];
    const struct graph *graph = &telling->graph->graph;
    const char *class_name;
    bool room;

    fputc('`', telling->out);
    room = graph_put_start(telling->out, graph, &telling->graph->shortest, suspect->object);
    put_kept(telling, "` keeps ");
    fputs(", gathered in ", telling->out);
    if (suspect->part && part->loop && part->objects > 1)
        return put_part(telling, suspect->part) && room;
    class_name = graph_class_name(graph, suspect->gathered_object);
    fprintf(telling->out, "one %s", graph_term(class_name) ? graph_term(class_name) : class_name);
    if (!suspect->part) return room;
    if (part->objects == 1) {
        put_largest_part(telling, part);
        return room;
    }
    fputs(" of ", telling->out);
    return put_part(telling, suspect->part) && room;
}

/* "130 Threads started at worker.rb:12"; of one it also says what it does. */
static void
put_threads(const struct telling *telling)
{
    const struct graph *graph = &telling->graph->graph;
    uint32_t object = telling->suspect->object;

    uint32_t text = graph_text(graph, object);

    graph_put_counted(telling->out, telling->suspect->count, "", graph_class_name(graph, object));
    if (telling->suspect->count > 1) put_place(telling, object);
    else if (text) {
        const char *place = graph_string(&graph->names, text);
        fputs(" started at ", telling->out);
        graph_put_place(telling->out, graph, place, strlen(place));
    }
}

/* "3,000 finalizers of Conn", "40 references of the root machine stack" */
static void
put_roots(const struct telling *telling)
{
    static const char finalizer[] = "finalizer";
    const struct graph *graph = &telling->graph->graph;
    const char *name = graph_label_name(graph, telling->pattern->label);

    cli_graph_put_amount(telling->out, (double)telling->pattern->objects, "count");
    if (!strncmp(name, finalizer, strlen(finalizer))) {
        fprintf(telling->out, " %ss%s", finalizer, name + strlen(finalizer));
        return;
    }
    fputs(" references of the root ", telling->out);
    graph_put_label(telling->out, graph, telling->pattern->label, false);
}

/* The class that includes these modules, if they are all of one class; else 0. */
static uint32_t
includer(const struct telling *telling)
{
    const struct graph *graph = &telling->graph->graph;
    const struct graph_pattern *at = telling->pattern;

    if (strcmp(graph_type(graph, at->example), "T_ICLASS")) return 0;
    while (at->parent && !strcmp(graph_type(graph, at->example), "T_ICLASS")) {
        at = &telling->patterns->all[at->parent];
    }
    return at->objects == 1 ? at->example : 0;
}

/* "2,400 modules included in class Helpers" */
static void
put_included(const struct telling *telling)
{
    cli_graph_put_amount(telling->out, telling->suspect->count, "count");
    fputs(" modules included in ", telling->out);
    graph_put_object(telling->out, &telling->graph->graph, includer(telling));
}

/* Many side by side: siblings with names of their own, threads, what a root keeps many of, modules
 * of one class, objects of one class. */
static bool
put_many(const struct telling *telling)
{
    const struct graph *graph = &telling->graph->graph;
    const struct graph_pattern *pattern = telling->pattern;
    bool thread = graph_layout(graph, pattern->example)->thread, room = true;

    if (pattern->siblings > 1) {
        graph_put_pattern_label(telling->out, graph, pattern);
        if (pattern->parent) {
            fputs(" of ", telling->out);
            graph_put_object(telling->out, graph, telling->patterns->all[pattern->parent].example);
        }
    }
    else if (thread) put_threads(telling);
    else if (includer(telling)) put_included(telling);
    else if (graph_label_kind(pattern->label) == HEAPPROF_DUMP_ROOT) put_roots(telling);
    else {
        room = put_part(telling, telling->suspect->pattern);
        fputs(" side by side", telling->out);
    }
    put_kept(telling, " keep ");
    if (!telling->suspect->part) return room;
    fputs(", most of it by ", telling->out);
    return put_part(telling, telling->suspect->part) && room;
}

/* True if these are threads, and all that keeps them is that they have not ended. */
static bool
running_p(const struct graph *graph, const struct graph_pattern *pattern)
{
    return graph_layout(graph, pattern->example)->thread &&
           graph_label_kind(pattern->label) == HEAPPROF_DUMP_FIELD &&
           !strcmp(graph_label_name(graph, pattern->label), "thread");
}

bool
cli_graph_put_suspect(FILE *out, const struct cli_graph *graph,
                      const struct cli_graph_suspects *suspects, size_t number)
{
    const struct graph_suspect *suspect = &suspects->all[number];
    struct telling telling = { out, graph, &suspects->patterns, suspect,
                               &suspects->patterns.all[suspect->pattern] };
    bool many = suspect->count > 1 || telling.pattern->siblings > 1 ||
                graph_layout(&graph->graph, suspect->object)->thread;
    bool room = many ? put_many(&telling) : put_one(&telling);

    fputs("; kept alive by ", out);
    room = cli_graph_put_way(out, graph, suspect->gathered_object, many) && room;
    if (running_p(&graph->graph, telling.pattern)) {
        fprintf(out, ": %s not ended", suspect->count > 1 ? "they have" : "it has");
    }
    if (suspect->stack) {
        fputs("; allocated at ", out);
        cli_graph_put_site(out, &graph->graph.names, suspect->stack);
    }
    return room;
}

bool
cli_graph_json_suspect(struct report_json *json, const struct cli_graph *graph,
                       const struct cli_graph_suspects *suspects, size_t number)
{
    const struct graph_suspect *suspect = &suspects->all[number];
    uint32_t gathered = suspect->gathered_object;
    struct cli_text text;

    report_json_line(json);
    report_json_begin(json, '{');
    if (!cli_text_begin(&text) || !cli_graph_put_suspect(text.out, graph, suspects, number))
        return false;
    report_json_key(json, "text");
    cli_text_json(&text, json);
    report_json_member_unsigned(json, "retained", suspect->retained);
    report_json_member_unsigned(json, "count", suspect->count);
    report_json_member_begin(json, "object", '{');
    if (!cli_graph_json_object(json, graph, suspect->object)) return false;
    report_json_end(json, '}');
    report_json_member_begin(json, "gathered", '{');
    if (!cli_graph_json_object(json, graph, gathered)) return false;
    report_json_end(json, '}');
    if (!cli_graph_json_way(json, "way", &graph->graph, &graph->shortest, gathered,
                            suspect->count > 1))
        return false;
    report_json_key(json, "stack");
    cli_graph_json_stack(json, &graph->graph, suspect->stack);
    report_json_end(json, '}');
    return true;
}
